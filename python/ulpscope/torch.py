# SPDX-License-Identifier: Apache-2.0
"""Models of torch under a recipe, unmodified: `with ulpscope.torch.emulate("fp8_deepseek") as run: ...`, and `watch`, which looks
on at real runs."""
import os
import threading
from types import TracebackType
from typing import Any, Optional, Sequence, Type, Union

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from . import _core
from ._requests import whole
from ._safetensors import Writer
from ._torch_emulation import PLACES, Emulation
from ._torch_modes import Functions, Operations
from ._torch_watch import watch

__all__ = ["Emulation", "emulate", "watch"]

#: runs of the blocks that are entered, the innermost last
_entered: "list[Emulation]" = []


class emulate:
    """A block within which models of torch compute as a recipe says. No model is changed and no module replaced.

        with us.torch.emulate("fp8_deepseek") as run:
            loss = model(x)
            loss.backward()
            optimizer.step()
        run.findings()

    Every product runs on the recipe's engine with its operands rounded as the recipe says, forward and backward; every other
    operation that recipes know rounds where they say; SGD, Adam, AdamW and Muon step weights and states in the recipe's formats.
    The bits are those of `ulpscope train` from the same weights and data. Under "float32" torch computes as ever, and the census
    is empty. A block is for the thread that enters it; within another block it alone counts. Moments are the optimizer's own: in its
    state_dict(), and where torch or a checkpoint left some they go on.

    recipe: a name of ulpscope.recipes(), or a TOML file. Under "float64", or another that stores weights wider than float32, the
        model is a double() one, and its products run on engines of float64.
    seed: of stochastic rounding, a whole number from 0.
    record: a .safetensors file that gets tensors when the block ends, `STEP/NAME`; steps count from 0.
    places: what is recorded. "gradients": those of the parameters as the optimizer takes them, unscaled, by parameter: a trace for
        `ulpscope scale`. Of each product "input", "weight" and "grad_output" before they are rounded, "output", "grad_input" and
        "grad_weight" as they were stored, as STEP/LAYER/PLACE, the second of a name with .2 behind it: for `ulpscope census` and `sweep`.
    every: steps from one that is recorded to the next.

    Gives an Emulation: census(), findings(), unknown. Tensors keep shape and device; results are float32 (float64) whose numbers are those
    of the recipe's formats. What recipes do not know torch computes in that, and it is named once, by a warning and in
    `unknown`; compiled models run uncompiled. Source of every operation: training/tape/operations.hpp.

    Raises ulpscope.Error, one line: no such recipe or place; weights that are not float32 (float64); an optimizer that recipes do
    not know under a recipe that stores weights in another format; optimizer.step(closure); create_graph=True."""

    def __init__(self, recipe: "Union[str, os.PathLike[str]]", seed: int = 0, record: "Union[str, os.PathLike[str], None]" = None,
                 places: Sequence[str] = ("gradients",), every: int = 1) -> None:
        self._plain = str(recipe) == "float32"
        places = (places,) if isinstance(places, str) else tuple(places)
        for place in places:
            if place not in PLACES:
                raise _core.Error(f"emulate: places: '{_core.visible(str(place))}'; there are {', '.join(PLACES)}")
            if self._plain and place != "gradients" and record is not None:
                raise _core.Error(f"emulate: places: '{_core.visible(str(place))}' under float32, which torch itself computes; gradients can be recorded")
        every = whole(every, "emulate: every", 1, _core.Error)
        seed = whole(seed, "emulate: seed", 0, _core.Error)
        if not isinstance(recipe, (str, os.PathLike)):
            raise TypeError(f"emulate: {recipe!r} is no recipe's name or path")
        self.run = Emulation(str(recipe), seed, None, places, every)
        self._record = record

    def __enter__(self) -> Emulation:
        run = self.run
        if run in _entered:
            raise _core.Error("emulate: the block is entered already; make another one")
        if self._record is not None:
            if run._recorder is not None:
                raise _core.Error(f"emulate: record: {_core.visible(str(self._record))} was written by this block before; make another one")
            run._recorder = Writer(self._record)
        run._thread = threading.get_ident()
        for outer in _entered:
            outer.suspend()
        _entered.append(run)
        modules = torch.nn.modules.module
        self._hooks: "list[Any]" = [
            modules.register_module_forward_pre_hook(run._enter),
            modules.register_module_forward_hook(run._leave, always_call=True),
        ]
        self._modes: "list[Any]" = []
        if self._plain:
            self._hooks.append(register_optimizer_step_pre_hook(run._look_at_step))
            self._hooks.append(register_optimizer_step_post_hook(run._look_behind_step))
            return run
        self._hooks.append(register_optimizer_step_pre_hook(run._before_step))
        self._hooks.append(register_optimizer_step_post_hook(run._after_step))
        if hasattr(torch.compiler, "set_stance"):
            self._modes.append(torch.compiler.set_stance("force_eager"))
        self._modes += [Operations(run), Functions(run)]
        for mode in self._modes:
            if hasattr(mode, "__enter__"):
                mode.__enter__()
        return run

    def __exit__(self, kind: "Optional[Type[BaseException]]", error: "Optional[BaseException]", trace: "Optional[TracebackType]") -> None:
        for mode in reversed(self._modes):
            if hasattr(mode, "__exit__"):
                mode.__exit__(kind, error, trace)
        for hook in self._hooks:
            hook.remove()
        _entered.remove(self.run)
        for outer in _entered:
            outer.resume()
        self.run._end()
