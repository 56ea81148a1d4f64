// A refusal as a sentence, by a table of reasons; the service's own words where the table knows none better. Pure.
import { Problem } from "../api/http";

export type Sentences = Partial<Record<string, (metadata: Readonly<Record<string, string>>) => string>>;

export function told(error: Error, sentences: Sentences): string {
  if (!(error instanceof Problem)) return error.message;
  const sentence = sentences[error.reason]?.(error.metadata);
  if (sentence !== undefined) return sentence;
  const field = error.metadata["field"];
  return field && !error.message.includes(field) ? `${field}: ${error.message}` : error.message;
}
