// Which page the address names: sessions, or the threads.
import { useKeys } from "../keys/useKeys";
import { sessionsAt } from "../sessions/path";
import { SessionsPage } from "../sessions/SessionsPage";
import { Console } from "./Console";
import { go, usePath } from "./router";

export function App() {
  const sessions = sessionsAt(usePath());
  useKeys({
    "1": () => {
      if (sessions) go("/");
    },
    "2": () => {
      if (!sessions) go("/sessions");
    },
  });
  return sessions ? <SessionsPage id={sessions.id} /> : <Console />;
}
