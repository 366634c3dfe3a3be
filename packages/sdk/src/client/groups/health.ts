import { PalisadeError } from '../palisade-error.ts';
import type { RequestOptions, Sender } from '../send.ts';

/** Whether there is a gateway, and whether it takes calls. Both ask once and tell the truth of that moment. */
export function makeHealth(send: Sender) {
  const answers = async (name: 'getHealth' | 'getReadiness', options?: RequestOptions) => {
    try {
      (await send.open(name, { options })).close();
      return true;
    } catch (error) {
      if (error instanceof PalisadeError) return false;
      throw error;
    }
  };
  return {
    live: (options?: RequestOptions) => answers('getHealth', options),
    ready: (options?: RequestOptions) => answers('getReadiness', options),
  };
}
