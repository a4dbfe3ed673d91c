import { DevSession, takeCode } from "./devSession";
import type { FoundSession } from "./session";
import type { Settings } from "./settings";

/** Find the session of this tab: that of a code in the address, of the issuer, or the kept one. */
export async function findSession(settings: Settings): Promise<FoundSession> {
  if (settings.issuer) {
    const { resumeSession } = await import("./issuerSession");
    return resumeSession(settings.issuer);
  }
  if (!settings.sessionUrl) return { session: null, problem: null };
  const session = new DevSession(settings.sessionUrl);
  const code = takeCode();
  if (code !== null && !(await session.open(code))) {
    const problem = "The code in the address was used already, or has expired.";
    return { session: session.isOpen ? session : null, problem };
  }
  return { session: session.isOpen ? session : null, problem: null };
}
