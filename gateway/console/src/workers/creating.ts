// A worker made by hand: a session of its own, its registration, its first prompt. Each step is done once, whatever
// was retried; a name that is taken gives the session up again.
import { newKey, Problem } from "../api/http";
import { createSession, deleteSessions, say, type NewSession } from "../session/api";
import { registerWorker } from "./api";

export interface Draft {
  coordinator: string;
  name: string;
  brief: string;
  agent: Omit<NewSession, "title">;
}

/** What has been done so far; kept between tries. */
export interface Progress {
  keys: { create: string; register: string; prompt: string };
  /** The name that the session was opened for. */
  name?: string;
  session?: string;
  registered?: boolean;
}

export interface Calls {
  createSession: typeof createSession;
  registerWorker: typeof registerWorker;
  say: typeof say;
  deleteSessions: typeof deleteSessions;
}

const CALLS: Calls = { createSession, registerWorker, say, deleteSessions };

export function begun(): Progress {
  return { keys: { create: newKey(), register: newKey(), prompt: newKey() } };
}

/** Goes on where `progress` stands, and changes it. Answers the worker's session. */
export async function createWorker(draft: Draft, progress: Progress, calls: Calls = CALLS): Promise<string> {
  const { coordinator, name, brief, agent } = draft;
  if (progress.session !== undefined && !progress.registered && progress.name !== name) {
    await giveUp(progress, calls);
  }
  if (progress.session === undefined) {
    const made = await calls.createSession(
      { ...agent, title: `Thread: ${name}`, coordinator: `sessions/${coordinator}` },
      progress.keys.create,
    );
    progress.session = made.id;
    progress.name = name;
  }
  const session = progress.session;
  if (!progress.registered) {
    const body = { coordinator_session_id: coordinator, name, worker_session_id: session, brief };
    try {
      await calls.registerWorker(body, progress.keys.register);
    } catch (error) {
      if (error instanceof Problem && !error.retryable) await giveUp(progress, calls);
      throw error;
    }
    progress.registered = true;
  }
  await calls.say(session, "prompt", brief, progress.keys.prompt);
  return session;
}

/** Nobody needs a session that is nobody's worker. */
async function giveUp(progress: Progress, calls: Calls): Promise<void> {
  if (progress.session !== undefined) await calls.deleteSessions([progress.session]).catch(() => undefined);
  delete progress.session;
  progress.keys = begun().keys;
}
