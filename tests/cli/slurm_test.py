#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shards under a Slurm of one node, made for the test: tasks of srun, and an array job with a merge that depends on it. Skips by name
where Slurm (Debian: slurm-wlm) is not installed, or the user is not root.   usage: slurm_test.py PROGRAM"""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from files_test import PROGRAM
from time_limit import LIMIT

NEEDED = ("slurmctld", "slurmd", "munged", "srun", "sbatch", "sinfo")
INPUT = ("normal:0,1:512x1024", "--to", "e4m3,bf16", "--scale", "0.3", "--seed", "5")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@unittest.skipUnless(all(map(shutil.which, NEEDED)), "no Slurm")
@unittest.skipUnless(os.geteuid() == 0, "Slurm's daemons want to be root")
class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.path, host = pathlib.Path(scratch.name), socket.gethostname()
        cls.path.chmod(0o755)  # munged refuses a socket below folders that others cannot enter
        for name in ("state", "spool"):
            (cls.path / name).mkdir()
        (cls.path / "key").write_bytes(os.urandom(1024))
        (cls.path / "key").chmod(0o600)
        (cls.path / "slurm.conf").write_text("\n".join((
            "ClusterName=one", f"SlurmctldHost={host}(127.0.0.1)", "SlurmUser=root", "SlurmdUser=root", "AuthType=auth/munge",
            f"AuthInfo=socket={cls.path}/munge", "CredType=cred/munge", f"StateSaveLocation={cls.path}/state", f"SlurmdSpoolDir={cls.path}/spool",
            f"SlurmctldPidFile={cls.path}/ctld.pid", f"SlurmdPidFile={cls.path}/d.pid", f"SlurmctldPort={free_port()}", f"SlurmdPort={free_port()}",
            "ProctrackType=proctrack/pgid", "TaskPlugin=task/none", "MpiDefault=none", "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_CPU", "SlurmdParameters=config_overrides", f"NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN",
            "PartitionName=all Nodes=ALL Default=YES State=UP", "")))
        cls.environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")} | {
            "SLURM_CONF": f"{cls.path}/slurm.conf"}
        for number, words in enumerate((("munged", "--foreground", "--force", f"--key-file={cls.path}/key", f"--socket={cls.path}/munge",
                                         f"--pid-file={cls.path}/munged.pid", f"--log-file={cls.path}/munged.log", f"--seed-file={cls.path}/seed"),
                                        ("slurmctld", "-D"), ("slurmd", "-D", "-N", host))):
            with open(cls.path / f"{number}.log", "w") as log:
                daemon = subprocess.Popen(words, env=cls.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
            cls.addClassCleanup(daemon.wait)
            cls.addClassCleanup(daemon.terminate)
            time.sleep(1)
        end = time.monotonic() + 60
        while "idle" not in cls.command("sinfo", "-h", check=False).stdout:
            if time.monotonic() > end:
                raise RuntimeError("".join(file.read_text()[-2000:] for file in sorted(cls.path.glob("*.log"))))
            time.sleep(1)

    @classmethod
    def command(cls, *words, where=".", check=True):
        (cls.path / where).mkdir(exist_ok=True)
        done = subprocess.run([str(word) for word in words], cwd=cls.path / where, env=cls.environment, capture_output=True, text=True,
                              timeout=LIMIT)
        if check and done.returncode != 0:
            raise AssertionError(done.stderr)
        return done

    def report(self, where):
        return {path.name: path.read_bytes() for path in (self.path / where / "R").iterdir()}

    def assert_whole(self, where):
        if not (self.path / "whole").exists():
            self.command(PROGRAM, "census", *INPUT, "-o", "R", where="whole")
        self.assertEqual(sorted(path.name for path in (self.path / where / "parts").iterdir()), [f"{i}-of-4" for i in range(4)])
        self.assertEqual(self.report(where), self.report("whole"))

    def test_tasks_of_srun(self):
        self.command("srun", "-n", "4", PROGRAM, "census", *INPUT, "--shard", "auto", "-o", "parts", where="tasks")
        self.command(PROGRAM, "merge", "parts", "-o", "R", where="tasks")
        self.assert_whole("tasks")

    def test_an_array_and_the_merge_that_depends_on_it(self):
        words = " ".join((PROGRAM, "census", *INPUT, "--shard auto -o parts"))
        array = self.command("sbatch", "--parsable", "--array=10-25:5", "--wrap", words, where="array").stdout.strip()
        self.command("sbatch", "--wait", f"--dependency=afterok:{array}", "--wrap", f"{PROGRAM} merge parts -o R", where="array")
        self.assert_whole("array")


if __name__ == "__main__":
    unittest.main()
