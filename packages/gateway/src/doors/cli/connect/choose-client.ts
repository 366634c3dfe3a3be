import { editSteps } from '../../../config/suggest.ts';
import { CodedError } from '../../../core/coded-error.ts';
import type { Client } from './client.ts';
import { CLIENTS } from './clients.table.ts';

/** So many characters may be wrong in a name that is still recognised. */
const MOST_STEPS = 3;
const MOST_CHARS = 32;

/** The client of that id; an unknown one is refused with the one that was probably meant, and all there are. */
export function chooseClient(id: string): Client {
  const found = CLIENTS.find((client) => client.id === id);
  if (found !== undefined) return found;
  const meant = nearest(id.toLowerCase());
  const hint = meant === null ? '' : `; did you mean "${meant}"?`;
  throw new CodedError(
    'door/wrong-usage',
    `Cannot find the client "${id}": it is unknown, expected one of the list${hint}`,
    { remedy: `Choose one of: ${CLIENTS.map((client) => client.id).join(', ')}.` },
  );
}

function nearest(id: string): string | null {
  if (id.length > MOST_CHARS) return null;
  const parts = CLIENTS.filter(
    (client) => client.id.split('-').includes(id) || client.name.toLowerCase() === id,
  );
  const [part] = parts;
  // Half a name is enough, unless it is half of two.
  if (parts.length === 1 && part !== undefined) return part.id;
  const [best] = CLIENTS.map((client) => ({ id: client.id, steps: editSteps(id, client.id) })).sort(
    (a, b) => a.steps - b.steps,
  );
  return best !== undefined && best.steps <= Math.min(MOST_STEPS, id.length) ? best.id : (part?.id ?? null);
}
