import { ShieldX } from "lucide-react";
import type { ReactNode } from "react";
import { useAnswer } from "../app/queries";
import { Viewer } from "../graphql/generated/shell";
import { hasRole, type HeldRole } from "./roles";
import { useTitle } from "./title";

/** The roles of the caller; none until they are known. */
export function useRoles(): readonly HeldRole[] | undefined {
  return useAnswer(Viewer, {}).data?.viewer.roles;
}

/** Words in place of what the caller's role does not allow. */
export function DenialNote({ children }: { children: ReactNode }) {
  return (
    <p className="small muted row middle">
      <ShieldX size={16} aria-hidden />
      <span>{children}</span>
    </p>
  );
}

/** What stands in place of a screen that the caller's role does not allow. */
export function Denied({ title, children }: { title: string; children: ReactNode }) {
  useTitle(title);
  return (
    <div className="drop">
      <ShieldX size={28} aria-hidden />
      <h1>{title}</h1>
      {children}
    </div>
  );
}

interface OfRoleProps {
  role: "CONTRIBUTOR" | "ADMIN";
  /** The group at which it is needed. */
  at: string;
  /** What is said to others. */
  otherwise?: ReactNode;
  children: ReactNode;
}

/** What only those see who hold a role at a group; nothing until the roles are known. */
export function OfRole({ role, at, otherwise = null, children }: OfRoleProps) {
  const roles = useRoles();
  if (roles === undefined) return null;
  return <>{hasRole(roles, role, at) ? children : otherwise}</>;
}
