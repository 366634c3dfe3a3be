import type { CompleteRequest, CompleteResult } from '@modelcontextprotocol/server';
import type { Asking } from './ask-approval.ts';
import { completeUpstream } from './upstream-methods.ts';

const NOTHING: CompleteResult = { completion: { values: [], total: 0, hasMore: false } };

/** `completion/complete`: for prompts and templates of upstream servers, they are asked; our own complete nothing. */
export async function complete(asking: Asking, params: CompleteRequest['params']): Promise<CompleteResult> {
  const { ref } = params;
  const offered = asking.door.offers.of(asking.client.caller);
  if (ref.type === 'ref/prompt') {
    const found = offered.prompts.get(ref.name);
    if (found === undefined || found.complete === null) return NOTHING;
    return completeUpstream(asking, found.complete, { ...params, ref: { ...ref, name: found.prompt.name } });
  }
  const found = offered.templates.get(ref.uri);
  return found === undefined || found.complete === null
    ? NOTHING
    : completeUpstream(asking, found.complete, params);
}
