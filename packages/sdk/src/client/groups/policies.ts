import type { RequestOptions, Sender } from '../send.ts';
import type { CheckPoliciesRequest, ExplainRequest, ReplacePoliciesRequest } from '../wire.ts';

export function makePolicies(send: Sender) {
  return {
    get: (options?: RequestOptions) => send.json('getPolicies', { options }),
    /** Checks files without using them; without any, those of the gateway. `ok` may be false. */
    check: (body: CheckPoliciesRequest = {}, options?: RequestOptions) =>
      send.json('checkPolicies', { body, options }),
    /** Why a call would be allowed or not; nothing is run or recorded. */
    explain: (body: ExplainRequest, options?: RequestOptions) => send.json('explainCall', { body, options }),
    /** Replaces all files at once, if they are valid and nobody changed them since `ifDigest` was seen. */
    replace: (body: ReplacePoliciesRequest, options?: RequestOptions) =>
      send.json('replacePolicies', { body, options }),
  };
}
