import { ChevronDown, ChevronRight } from "lucide-react";
import { useState } from "react";
import { useAnswer } from "../../app/queries";
import { GroupDetails } from "../../graphql/generated/groups";
import { Loading, Problem } from "../../parts/state";
import { covers } from "../../parts/roles";

interface GroupTreeProps {
  tops: readonly string[];
  chosen: string;
  onChoose: (path: string) => void;
}

/** The groups below those where the caller has a role; a branch is read when it is opened. */
export function GroupTree({ tops, ...rest }: GroupTreeProps) {
  return (
    <ul className="tree">
      {tops.map((path) => (
        <Branch key={path} path={path} {...rest} isOpenAtFirst />
      ))}
    </ul>
  );
}

interface BranchProps extends Omit<GroupTreeProps, "tops"> {
  path: string;
  isOpenAtFirst?: boolean;
}

function Branch({ path, chosen, onChoose, isOpenAtFirst = false }: BranchProps) {
  const isOnTheWay = path !== chosen && covers(path, chosen);
  const [isOpen, setOpen] = useState(isOpenAtFirst || isOnTheWay);
  const [wasOnTheWay, setOnTheWay] = useState(isOnTheWay);
  if (isOnTheWay !== wasOnTheWay) {
    setOnTheWay(isOnTheWay);
    if (isOnTheWay) setOpen(true);
  }
  const name = path === "/" ? "/" : path.slice(path.lastIndexOf("/") + 1);
  const Icon = isOpen ? ChevronDown : ChevronRight;
  return (
    <li className="facet">
      <div className="level">
        <button
          type="button"
          className="button quiet icon"
          aria-expanded={isOpen}
          aria-label={`Below ${path}`}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon size={16} aria-hidden />
        </button>
        <button
          type="button"
          className="choose"
          aria-pressed={path === chosen}
          onClick={() => onChoose(path)}
        >
          {name}
        </button>
      </div>
      {isOpen ? <Children path={path} chosen={chosen} onChoose={onChoose} /> : null}
    </li>
  );
}

function Children({ path, ...rest }: BranchProps) {
  const { data, error } = useAnswer(GroupDetails, { path });
  if (error && !data) return <Problem error={error} />;
  if (!data) return <Loading what="groups" />;
  const { nodes = [], pageInfo } = data.group?.children ?? {};
  return (
    <ul className="tree">
      {nodes.map((child) => (
        <Branch key={child.path} path={child.path} {...rest} />
      ))}
      {nodes.length === 0 ? <li className="small muted">No groups below.</li> : null}
      {pageInfo?.hasNextPage ? <li className="small muted">The first 100 are shown.</li> : null}
    </ul>
  );
}
