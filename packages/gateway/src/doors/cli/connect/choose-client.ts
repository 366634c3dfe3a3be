import { CodedError } from '../../../core/coded-error.ts';
import { editSteps } from '../../../core/suggest.ts';
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
  const hint = meant.length === 0 ? '' : `; did you mean ${meant.map((one) => `"${one}"`).join(' or ')}?`;
  throw new CodedError(
    'door/wrong-usage',
    `Cannot find the client "${id}": it is unknown, expected one of the list${hint}`,
    { remedy: `Choose one of: ${CLIENTS.map((client) => client.id).join(', ')}.` },
  );
}

/** Half a name is enough: all that have it are meant. Else it is the one that is spelt most alike. */
function nearest(id: string): readonly string[] {
  if (id.length > MOST_CHARS) return [];
  const parts = CLIENTS.filter(
    (client) => client.id.split('-').includes(id) || client.name.toLowerCase() === id,
  );
  if (parts.length > 0) return parts.map((client) => client.id);
  const [best] = CLIENTS.map((client) => ({ id: client.id, steps: editSteps(id, client.id) })).sort(
    (a, b) => a.steps - b.steps,
  );
  const most = Math.min(MOST_STEPS, Math.floor(id.length / 2));
  return best !== undefined && best.steps <= most ? [best.id] : [];
}
