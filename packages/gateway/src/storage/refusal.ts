/** Why a request of a skill was not done. None of them is an error of the gateway, and nothing was changed. */
export type StorageWhy = 'invalid-key' | 'denied' | 'too-large' | 'full' | 'conflict' | 'busy';

export type StorageRefusal = { readonly ok: false; readonly why: StorageWhy; readonly message: string };

/** A refusal as a value; the message is one sentence for the author of the skill. */
export function refuseFor(why: StorageWhy, message: string): StorageRefusal {
  return { ok: false, why, message };
}
