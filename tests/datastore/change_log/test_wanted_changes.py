"""A follower of executions looks up those changes only whose execution its list may have."""

from datetime import timedelta

from penstock.datastore.change_log.follow import FollowedGroup
from penstock.datastore.change_log.rows import Change
from penstock.datastore.clock import Clock
from penstock.datastore.executions.lists.follow_list import SHARED_AGAIN, _FollowedExecutions
from penstock.datastore.executions.records import ExecutionState
from penstock.datastore.roles import GroupPath
from penstock.datastore.store import Store
from tests.support.sample_resources import EU, SUPER, USA, Watch, create_groups, on_sqlite

FAILED, SUCCESS = ExecutionState.FAILED, ExecutionState.SUCCESS


def change(group: GroupPath, *states: ExecutionState, pipeline: str = "p") -> Change:
    return Change(id="e", at=1, step=1, groups=(group,), states=states, pipeline_id=pipeline)


@on_sqlite
async def test_an_execution_is_looked_up_if_its_groups_and_states_may_be_listed(
    store: Store,
) -> None:
    watch = Watch()
    store = Store(store.table, clock=Clock(watch))
    await create_groups(store)
    access = store.open_session(SUPER)._access
    eu = await FollowedGroup.of(access, EU, below=True)
    followed = _FollowedExecutions(eu, [FAILED])
    assert followed.wants(change(EU, FAILED))
    assert followed.wants(change(EU, FAILED, SUCCESS))
    assert followed.wants(change(EU))
    assert not followed.wants(change(EU, SUCCESS))
    # Its pipeline may be shared with the group, which nobody has looked up yet.
    assert followed.wants(change(USA, FAILED))
    assert not followed.wants(change(USA, SUCCESS))
    assert await followed.read(change(USA, FAILED)) is None
    assert not followed.wants(change(USA, FAILED))
    watch.move(SHARED_AGAIN + timedelta(seconds=1))
    assert followed.wants(change(USA, FAILED))
    followed.looked_up, followed.shared = access.clock.now(), frozenset({"shared"})
    assert followed.wants(change(USA, FAILED, pipeline="shared"))
    assert not followed.wants(change(USA, FAILED))
