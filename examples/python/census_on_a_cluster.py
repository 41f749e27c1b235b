# SPDX-License-Identifier: Apache-2.0
"""A census of a checkpoint by all workers of a Dask or Ray cluster, each of which reads its share.

    python census_on_a_cluster.py dask|ray CHECKPOINT PARTS REPORT

Tried with Dask 2026.8.0 and Ray 2.60.0. The checkpoint and PARTS lie on a file system that all workers have; `ulpscope` is in their PATH.
"""
import subprocess
import sys

OPTIONS = ["--to", "e4m3,bf16"]


def measure(checkpoint, parts, i, n):
    """One part: some kilobytes for each tensor, whatever was read."""
    subprocess.run(["ulpscope", "census", checkpoint, *OPTIONS, "--shard", f"{i}/{n}", "-o", f"{parts}/{i}"], check=True)


def on_dask(checkpoint, parts):
    from dask.distributed import Client

    with Client() as client:  # Client("scheduler:8786") of a cluster that is there
        n = len(client.nthreads())  # workers
        client.gather([client.submit(measure, checkpoint, parts, i, n, pure=False) for i in range(n)])


def on_ray(checkpoint, parts):
    import ray

    ray.init()  # "auto" for a cluster that is there
    n = len(ray.nodes())
    cpus = int(min(node["Resources"]["CPU"] for node in ray.nodes()))  # a part takes all of a node: it has threads of its own
    part = ray.remote(num_cpus=cpus)(measure)
    ray.get([part.remote(checkpoint, parts, i, n) for i in range(n)])


if __name__ == "__main__":
    which, checkpoint, parts, report = sys.argv[1:]
    {"dask": on_dask, "ray": on_ray}[which](checkpoint, parts)
    subprocess.run(["ulpscope", "merge", parts, "-o", report], check=True)
