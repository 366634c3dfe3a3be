/** What can be read of a call that has ended. */
export type CallPart = 'receipt' | 'output';

export const CALL_PARTS: readonly CallPart[] = ['receipt', 'output'];

const URI = /^palisade:\/\/calls\/(call_[0-9a-z]{25})\/(receipt|output)$/;

/** Where a part of a call can be read. */
export function callUri(callId: string, part: CallPart): string {
  return `palisade://calls/${callId}/${part}`;
}

/** Reads such an address; null for any other. */
export function parseCallUri(uri: string): { readonly callId: string; readonly part: CallPart } | null {
  const [, callId, part] = URI.exec(uri) ?? [];
  return callId === undefined || part === undefined ? null : { callId, part: part as CallPart };
}
