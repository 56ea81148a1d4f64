// The bar on top: where I am, whether I see the truth, and the two things that can be started from anywhere.
import { useFeedStatus } from "../live/Live";
import { Who } from "../door/Who";
import { Button } from "../ui/Button";
import { Dot } from "../ui/State";
import { go, navigate } from "./router";

interface Props {
  onNew: () => void;
  onHelp: () => void;
  page?: "threads" | "sessions";
}

export function Masthead({ onNew, onHelp, page = "threads" }: Props) {
  return (
    <header className="sticky top-0 z-10 flex h-12 items-center gap-3 border-b border-line bg-paper px-4">
      <a
        href="/"
        className="flex items-center gap-2 rounded font-serif text-lg font-medium tracking-tight"
        onClick={(event) => {
          event.preventDefault();
          navigate({ threadId: undefined, view: "inbox", filter: "", words: "" });
        }}
      >
        <img src="/treadle.svg" alt="" width="20" height="20" />
        <span className="max-sm:sr-only">Treadle</span>
      </a>
      <nav aria-label="Pages" className="flex items-center gap-1">
        <PageLink url="/" current={page === "threads"}>
          Threads
        </PageLink>
        <PageLink url="/sessions" current={page === "sessions"}>
          Sessions
        </PageLink>
      </nav>
      <LiveMark />
      <div className="ml-auto flex min-w-0 items-center gap-2">
        <Who />
        <Button
          look="bare"
          onClick={onHelp}
          aria-label="Keys: what each of them does"
          hint="?"
          className="max-lg:hidden"
        >
          Keys
        </Button>
        <Button onClick={onNew} hint="n">
          {page === "sessions" ? "New session" : "New thread"}
        </Button>
      </div>
    </header>
  );
}

function PageLink({ url, current, children }: { url: string; current: boolean; children: string }) {
  return (
    <a
      href={url}
      aria-current={current ? "page" : undefined}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        go(url);
      }}
      className="rounded px-2 py-1 text-sm text-muted hover:bg-sunk hover:text-ink aria-[current]:font-medium aria-[current]:text-ink"
    >
      {children}
    </a>
  );
}

function LiveMark() {
  const status = useFeedStatus();
  const text = status === "live" ? "Live" : status === "lost" ? "Reconnecting" : "Connecting";
  return (
    <span
      role="status"
      data-live={status}
      title={status === "live" ? "Changes appear by themselves" : "What you see may be out of date"}
      className={`flex items-center gap-2 text-xs ${status === "lost" ? "text-madder" : "text-faint"}`}
    >
      <Dot tone={status === "live" ? "done" : status === "lost" ? "warn" : "quiet"} />
      <span className={status === "live" ? "max-sm:sr-only" : ""}>{text}</span>
    </span>
  );
}
