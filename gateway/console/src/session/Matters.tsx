// What hangs on a session besides the conversation: its proposals, and, on a branch, what was open in its origin.
import type { Session } from "./api";
import { OriginLinks } from "./OriginLinks";
import { Proposals } from "./Proposals";

export function Matters({ session }: { session: Session }) {
  return (
    <>
      <OriginLinks session={session} />
      <Proposals session={session.id} />
    </>
  );
}
