// A mutation outside of a single thread's decision: one idempotency key a gesture, sent again where its fate is unknown.
import { Problem, newKey, request } from "./http";

const RETRIES = 2;
const PAUSE_MS = 300;

export async function send<T>(path: string, body: unknown, key: string = newKey()): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await request<T>(path, { method: "POST", body, key });
    } catch (error) {
      const unknown = error instanceof Problem && (error.status === 0 || error.status === 503);
      if (!unknown || attempt === RETRIES) throw error;
      await new Promise((wake) => setTimeout(wake, PAUSE_MS * 2 ** attempt));
    }
  }
}
