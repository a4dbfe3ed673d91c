import { useAddress } from "./address";
import { Missing } from "./state";
import { TimeField } from "./TimeRange";

/** The time at which a thing is shown, which the address names; now if it names none. */
export function AsAt() {
  const { search, change } = useAddress();
  const at = search.get("at");
  return (
    <div className="row">
      <TimeField label="As it was at" value={at} onChange={(time) => change({ at: time })} />
      {at ? (
        <button type="button" className="button" onClick={() => change({ at: null })}>
          As it is now
        </button>
      ) : null}
    </div>
  );
}

/** What stands in place of a thing that is not there; another time can be chosen if one was. */
export function missingAsAt(what: string, at: string | null) {
  // With its key the field is that of the thing, so who types a time stays in it.
  return (
    <>
      {at === null ? null : <AsAt key="at" />}
      <Missing what={what} isPast={at !== null} />
    </>
  );
}
