"""One round of SecAgg+: the sum of the vectors of all clients that stay, or an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from logging import INFO, WARNING
from typing import Final, cast

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message
from flwr.common import Parameters, Scalar, log, parameters_to_ndarrays
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS
from flwr.common.secure_aggregation.secaggplus_constants import Key as SecAggKey
from flwr.common.typing import FitRes
from flwr.server import LegacyContext, SimpleClientManager
from flwr.server.client_proxy import ClientProxy
from flwr.server.compat.grid_client_proxy import GridClientProxy
from flwr.server.strategy import FedAvg
from flwr.server.workflow import SecAggPlusWorkflow
from flwr.server.workflow.constant import MAIN_CONFIGS_RECORD, MAIN_PARAMS_RECORD, Key
from flwr.server.workflow.secure_aggregation.secaggplus_workflow import WorkflowState
from flwr.serverapp import Grid
from numpy.typing import NDArray

from dpcore.trust import RoundError

from .exact_sums import ExactSums

__all__ = ["SecureSum", "secure_sum"]

_OWNERS: Final = SecAggKey.NODE_ID_LIST
_SHARES: Final = SecAggKey.SHARE_LIST
_ROUNDING: Final = 1e-3  # a sum of integers is as near as this to an integer


@dataclass(frozen=True, slots=True)
class SecureSum:
    """The sum of the vectors of some clients, and how many these are."""

    total: NDArray[np.int64]
    reports: int


def secure_sum(
    grid: Grid,
    context: Context,
    nodes: Sequence[int],
    sums: ExactSums,
    instructions: Mapping[str, Scalar],
    timeout: float,
) -> SecureSum:
    """Ask all nodes for a vector of integers, and return the sum of those that stay.

    Parameters
    ----------
    grid, context
        What Flower gives to a ServerApp.
    nodes
        The clients that are asked, ``sums.clients`` of them.
    sums
        The parameters of SecAgg+.
    instructions
        What a client has to know to make its vector.
    timeout
        How many seconds to wait in each of the four stages.

    Raises
    ------
    RoundError
        Too few clients are left; or the result is not a sum of integers.
    """
    manager = SimpleClientManager()
    for node in nodes:
        manager.register(GridClientProxy(node, grid, grid.run.run_id))
    strategy = _Unchanged(
        min_fit_clients=len(nodes),
        min_available_clients=len(nodes),
        on_fit_config_fn=lambda _: dict(instructions),
    )
    legacy = LegacyContext(context, strategy=strategy, client_manager=manager)
    legacy.state.config_records[MAIN_CONFIGS_RECORD] = ConfigRecord({Key.CURRENT_ROUND: 1})
    legacy.state.array_records[MAIN_PARAMS_RECORD] = ArrayRecord()
    _ExactWorkflow(sums, timeout)(grid, legacy)
    if strategy.mean is None:
        raise RoundError("secure aggregation gave no result")
    # Flower returns the mean in doubles. All numbers are below 2^32, so this finds the sum.
    scaled = strategy.mean * strategy.reports
    total = np.rint(scaled)
    if np.abs(scaled - total).max(initial=0.0) > _ROUNDING:
        raise RoundError("secure aggregation did not return a sum of integers")
    return SecureSum(total.astype(np.int64), strategy.reports)


class _Unchanged(FedAvg):
    """A strategy that keeps the mean as secure aggregation returns it."""

    mean: NDArray[np.float64] | None = None
    reports: int = 0

    def aggregate_fit(
        self,
        server_round: int,
        results: list[tuple[ClientProxy, FitRes]],
        failures: list[tuple[ClientProxy, FitRes] | BaseException],
    ) -> tuple[Parameters | None, dict[str, Scalar]]:
        del server_round, failures
        self.reports = len(results)  # every result holds the same mean
        self.mean = parameters_to_ndarrays(results[0][1].parameters)[0]
        return None, {}


class _ExactWorkflow(SecAggPlusWorkflow):
    """Flower's workflow that forgets who left early, checks before it opens, and raises errors."""

    def __init__(self, sums: ExactSums, timeout: float) -> None:
        everybody = sums.neighbours == sums.clients
        super().__init__(
            num_shares=1.0 if everybody else sums.neighbours,
            reconstruction_threshold=sums.threshold,
            max_weight=1.0,
            clipping_range=float(sums.bound),
            quantization_range=sums.range,
            modulus_range=sums.modulus,
            timeout=timeout,
        )
        self._sums = sums
        self._failures = 0

    def setup_stage(self, grid: Grid, context: LegacyContext, state: WorkflowState) -> bool:
        log(INFO, "Stage 1 of 4, public keys: %s clients are asked", self._sums.clients)
        super().setup_stage(grid, context, state)
        self._forget_lost(state)
        return self._enough(state, "public keys")

    def share_keys_stage(self, grid: Grid, context: LegacyContext, state: WorkflowState) -> bool:
        log(INFO, "Stage 2 of 4, shares of keys: %s clients are left", len(state.active_node_ids))
        super().share_keys_stage(grid, context, state)
        self._forget_lost(state)
        return self._enough(state, "shares of keys")

    def collect_masked_vectors_stage(
        self, grid: Grid, context: LegacyContext, state: WorkflowState
    ) -> bool:
        log(INFO, "Stage 3 of 4, masked vectors: %s clients are left", len(state.active_node_ids))
        super().collect_masked_vectors_stage(grid, context, state)
        return self._enough(state, "masked vectors")

    def unmask_stage(self, grid: Grid, context: LegacyContext, state: WorkflowState) -> bool:
        # What is opened is the sum of the vectors collected before, so this check comes first.
        log(INFO, "Stage 4 of 4, unmasking: %s clients are left", len(state.active_node_ids))
        self._enough(state, "masked vectors")
        enough = cast(Grid, _EnoughShares(grid, state.threshold))
        opened = super().unmask_stage(enough, context, state)
        self._log_failures(state, "unmasking")
        if not opened:
            raise self._error(state, "unmasking")
        return True

    def _check_threshold(self, state: WorkflowState) -> bool:
        return True  # ``_enough`` checks after every stage, when the lost ones are forgotten

    def _forget_lost(self, state: WorkflowState) -> None:
        """Go on as if only those who are left had been asked.

        Nobody has used the keys of the others yet, so there are no masks of theirs to remove.
        Flower would ask for shares of their keys later, which do not exist.
        """
        left = set(state.active_node_ids)
        state.sampled_node_ids = left
        state.nid_to_neighbours = {node: state.nid_to_neighbours[node] & left for node in left}

    def _enough(self, state: WorkflowState, stage: str) -> bool:
        self._log_failures(state, stage)
        left = state.active_node_ids
        holders = (len(state.nid_to_neighbours[node] & left) for node in state.sampled_node_ids)
        if len(left) < self._sums.required or min(holders) < self._sums.threshold:
            raise self._error(state, stage)
        return True

    def _log_failures(self, state: WorkflowState, stage: str) -> None:
        fresh = map(str, state.failures[self._failures :])
        for failure in dict.fromkeys(fresh):  # Flower has some of them twice
            log(WARNING, "A client failed in the stage of %s: %s", stage, failure)
        self._failures = len(state.failures)

    def _error(self, state: WorkflowState, stage: str) -> RoundError:
        sums, left = self._sums, len(state.active_node_ids)
        reason = ""
        if left >= sums.required:
            reason = (
                f" These are enough, but the keys of some client were shared among"
                f" {sums.neighbours} clients of whom fewer than {sums.threshold} are left."
            )
        opened = "Nothing was opened."
        if stage == "unmasking":  # others have sent their shares of keys
            opened = "Answers that are late could still open the sum: count this round as spent."
        return RoundError(
            f"too few clients after the stage of {stage}: {left} of {sums.clients} are left, and"
            f" {sums.required} are required.{reason} {opened}"
        )


class _EnoughShares:
    """A Grid for the last stage, which passes on only as many shares of a key as rebuild it.

    Flower uses all that it gets, and the work grows with the square of their number.
    """

    def __init__(self, grid: Grid, threshold: int) -> None:
        self._grid = grid
        self._threshold = threshold

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        replies = list(self._grid.send_and_receive(messages, timeout=timeout))
        passed = Counter[int]()
        for reply in replies:
            if reply.has_content():
                answer = reply.content.config_records[RECORD_KEY_CONFIGS]
                owners = cast(list[int], answer[_OWNERS])
                shares = cast(list[bytes], answer[_SHARES])
                pairs = zip(owners, shares, strict=True)
                few = [pair for pair in pairs if passed[pair[0]] < self._threshold]
                passed.update(owner for owner, _ in few)
                answer[_OWNERS] = [owner for owner, _ in few]
                answer[_SHARES] = [share for _, share in few]
        return replies
