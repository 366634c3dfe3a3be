import type { Json } from '../../core/json.ts';
import type { ServerEvent } from './route.ts';

/** The events of a stream as this door writes them, one after the other; comments keep it alive and say nothing. */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    const whole = text.split('\n\n');
    // The last part has no end yet.
    text = whole.pop() ?? '';
    for (const block of whole) {
      const event = parseEvent(block);
      if (event !== null) yield event;
    }
  }
}

/** One event; null for a block that has none. */
export function parseEvent(block: string): ServerEvent | null {
  const fields: Record<string, string> = {};
  for (const line of block.split('\n')) {
    const [, name, value] = /^(event|id|data): (.*)$/s.exec(line) ?? [];
    if (name !== undefined && value !== undefined) fields[name] = value;
  }
  const { event, id, data } = fields;
  if (event === undefined || data === undefined) return null;
  return { event, ...(id === undefined ? {} : { id }), data: JSON.parse(data) as Json };
}
