import { MalformedLine } from './lines.ts';

/** Consecutive lines that are hashed side by side. */
export type Batch = {
  /** The number of the first line, counted from one. */
  readonly from: number;
  readonly lines: readonly string[];
  /** Why there is no further line, unless it is the end. */
  readonly malformed: MalformedLine | null;
};

const MAX_BATCH_LINES = 256;
/** Long lines make short batches, so that the memory in use stays the same. */
const MAX_BATCH_CHARACTERS = 2 * 1024 * 1024;

/** Gathers lines into batches. A malformed line ends the last batch; an error of the source itself is thrown on. */
export async function* batchLines(
  lines: Iterable<string> | AsyncIterable<string>,
): AsyncGenerator<Batch, void, undefined> {
  let from = 1;
  let gathered: string[] = [];
  let characters = 0;
  let malformed: MalformedLine | null = null;
  try {
    for await (const line of lines) {
      gathered.push(line);
      characters += line.length;
      if (gathered.length < MAX_BATCH_LINES && characters < MAX_BATCH_CHARACTERS) continue;
      yield { from, lines: gathered, malformed };
      from += gathered.length;
      gathered = [];
      characters = 0;
    }
  } catch (error) {
    if (!(error instanceof MalformedLine)) throw error;
    malformed = error;
  }
  yield { from, lines: gathered, malformed };
}
