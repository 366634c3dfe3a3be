import { invalidReply, type Reply } from './reply.ts';
import { eventsOf, MalformedEvents } from './server-events.ts';

/** An event of a gateway, whose data is JSON. */
export type JsonEvent = { readonly event: string; readonly id: string; readonly data: unknown };

/** The events of a reply; throws a PalisadeError for what are none. */
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
