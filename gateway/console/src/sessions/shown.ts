// Whether the list shows sessions of workers, too: remembered in this browser.
const NAME = "treadle.sessions.workers";

export function showsWorkers(): boolean {
  try {
    return localStorage.getItem(NAME) === "yes";
  } catch {
    return false; // storage may be forbidden
  }
}

export function rememberWorkers(shown: boolean): void {
  try {
    localStorage.setItem(NAME, shown ? "yes" : "no");
  } catch {
    // It holds for this page, then.
  }
}
