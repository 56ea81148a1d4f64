import { expect, it } from "vitest";
import { Problem } from "../api/http";
import type { Session } from "../session/api";
import { begun, createWorker, type Calls, type Draft } from "./creating";

const DRAFT: Draft = {
  coordinator: "ses_c",
  name: "alpha",
  brief: "count",
  agent: { adapter: "scripted", provider: "", model: "", thinking: "medium" },
};

/** A service that fails as told, and what it did. */
function service(failures: Partial<Record<keyof Calls, Error[]>>) {
  const done: string[] = [];
  const step = (call: keyof Calls, told: string): void => {
    const failure = failures[call]?.shift();
    if (failure) throw failure;
    done.push(told);
  };
  let sessions = 0;
  const calls: Calls = {
    createSession: ({ title }) => {
      step("createSession", `create ${title}`);
      sessions += 1;
      return Promise.resolve({ id: `ses_${String(sessions)}` } as Session);
    },
    registerWorker: (body) => {
      step("registerWorker", `register ${body.name} ${body.worker_session_id}`);
      return Promise.resolve({ thread: {} as never });
    },
    say: (id, verb, text) => {
      step("say", `${verb} ${id} ${text}`);
      return Promise.resolve();
    },
    deleteSessions: (ids) => {
      step("deleteSessions", `delete ${ids.join()}`);
      return Promise.resolve([]);
    },
  };
  return { calls, done };
}

const away = new Problem(503, "", "", "UNAVAILABLE", {}, undefined);
const taken = new Problem(409, "", "", "NAME_TAKEN", {}, undefined);

it("opens, registers, prompts", async () => {
  const { calls, done } = service({});
  expect(await createWorker(DRAFT, begun(), calls)).toBe("ses_1");
  expect(done).toEqual(["create Thread: alpha", "register alpha ses_1", "prompt ses_1 count"]);
});

it("does each step once, whatever was retried", async () => {
  const { calls, done } = service({ registerWorker: [away], say: [away] });
  const progress = begun();
  await expect(createWorker(DRAFT, progress, calls)).rejects.toBe(away);
  await expect(createWorker(DRAFT, progress, calls)).rejects.toBe(away);
  await createWorker(DRAFT, progress, calls);
  expect(done).toEqual(["create Thread: alpha", "register alpha ses_1", "prompt ses_1 count"]);
});

it("gives the session up where it cannot become a worker", async () => {
  const { calls, done } = service({ registerWorker: [taken] });
  const progress = begun();
  await expect(createWorker(DRAFT, progress, calls)).rejects.toBe(taken);
  await createWorker({ ...DRAFT, name: "beta" }, progress, calls);
  expect(done).toEqual([
    "create Thread: alpha",
    "delete ses_1",
    "create Thread: beta",
    "register beta ses_2",
    "prompt ses_2 count",
  ]);
});

it("opens another session when the name changed before it was registered", async () => {
  const { calls, done } = service({ registerWorker: [away] });
  const progress = begun();
  await expect(createWorker(DRAFT, progress, calls)).rejects.toBe(away);
  await createWorker({ ...DRAFT, name: "beta" }, progress, calls);
  expect(done.slice(0, 3)).toEqual(["create Thread: alpha", "delete ses_1", "create Thread: beta"]);
});
