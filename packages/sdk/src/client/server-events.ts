import { invalidReply, type Reply } from './reply.ts';

/** One event of a stream. `id` is the last one that the stream named, empty before the first. */
export type StreamEvent = { readonly event: string; readonly id: string; readonly data: string };

/** More than the largest output of a call takes in one event; beyond it the stream is aborted. */
export const MAX_EVENT_CHARS = 128 * 1024 * 1024;

/** A stream that cannot be read as events. */
export class MalformedEvents extends Error {
  override readonly name = 'MalformedEvents';
}

export type EventParser = {
  /** Takes the next bytes, split anywhere, and returns the events that they complete; throws MalformedEvents. */
  readonly push: (bytes: Uint8Array) => readonly StreamEvent[];
};

/**
 * Reads server-sent events as they come. A line ends with LF, CR or CRLF; a byte order mark at the start, comments and
 * unknown fields are skipped; an event without its final empty line is dropped.
 */
export function makeEventParser(maxEventChars: number = MAX_EVENT_CHARS): EventParser {
  const decoder = new TextDecoder();
  const draft = makeDraft();
  let pending = '';
  let chars = 0;
  let endedWithCr = false;
  return {
    push(bytes) {
      let text = decoder.decode(bytes, { stream: true });
      if (text === '') return [];
      if (endedWithCr && text.startsWith('\n')) text = text.slice(1);
      endedWithCr = text.endsWith('\r');
      const lines = text.split(/\r\n|\r|\n/);
      const events: StreamEvent[] = [];
      for (const [index, piece] of lines.entries()) {
        chars += piece.length;
        // Boundary: an endless line or event does not fill the memory.
        if (chars > maxEventChars)
          throw new MalformedEvents(`an event has more than ${maxEventChars} characters`);
        pending += piece;
        if (index === lines.length - 1) break;
        const event = draft.take(pending);
        if (event !== null) events.push(event);
        if (pending === '') chars = 0;
        pending = '';
      }
      return events;
    },
  };
}

/** The fields of the event that is being read. */
function makeDraft() {
  let event = '';
  let id = '';
  let data: string[] = [];
  return {
    take(line: string): StreamEvent | null {
      if (line === '') {
        const whole = data.length === 0 ? null : { event: event || 'message', id, data: data.join('\n') };
        event = '';
        data = [];
        return whole;
      }
      const colon = line.indexOf(':');
      const field = colon === -1 ? line : line.slice(0, colon);
      const value = colon === -1 ? '' : line.slice(line.charAt(colon + 1) === ' ' ? colon + 2 : colon + 1);
      if (field === 'data') data.push(value);
      else if (field === 'event') event = value;
      else if (field === 'id' && !value.includes('\0')) id = value;
      return null;
    },
  };
}

/** The events of a body, one after the other. A reader that stops early releases the body. */
export async function* eventsOf(
  chunks: AsyncIterable<Uint8Array>,
  maxEventChars: number = MAX_EVENT_CHARS,
): AsyncGenerator<StreamEvent, void, undefined> {
  const parser = makeEventParser(maxEventChars);
  for await (const chunk of chunks) yield* parser.push(chunk);
}

/** An event of a gateway, whose data is JSON. */
export type JsonEvent = { readonly event: string; readonly id: string; readonly data: unknown };

/** The events of a response; throws a PalisadeError for malformed ones. */
export async function* readEvents(reply: Reply): AsyncGenerator<JsonEvent, void, undefined> {
  try {
    for await (const { event, id, data } of eventsOf(reply.chunks)) yield { event, id, data: parse(data) };
  } catch (error) {
    throw error instanceof MalformedEvents ? invalidReply(error.message) : error;
  }
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw invalidReply('the data of an event is no JSON');
  }
}
