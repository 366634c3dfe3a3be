/**
 * Every way a call or a command can end, in one table. HTTP status, CLI exit status, MCP result, console text and
 * docs/errors.md are all read from here; nothing reads a message to learn what happened.
 *
 * - refused: the call was rejected before anything ran.
 * - failed: it ran and did not succeed; output and usage are included.
 * - fault: the gateway itself failed; the incident is in the journal where it could still be written.
 */
export type CodeKind = 'ok' | 'refused' | 'failed' | 'fault' | 'usage';

export type CodeRow = {
  readonly kind: CodeKind;
  readonly httpStatus: number;
  readonly exitStatus: number;
  /** What happened, for a person who reads only this line. */
  readonly sentence: string;
  /** What that person can do about it. */
  readonly remedy: string;
};

type RowOf<K extends CodeKind> = CodeRow & { readonly kind: K };

function refused(httpStatus: number, sentence: string, remedy: string): RowOf<'refused'> {
  return { kind: 'refused', httpStatus, exitStatus: 2, sentence, remedy };
}

function failed(httpStatus: number, sentence: string, remedy: string): RowOf<'failed'> {
  return { kind: 'failed', httpStatus, exitStatus: 1, sentence, remedy };
}

function fault(httpStatus: number, sentence: string, remedy: string): RowOf<'fault'> {
  return { kind: 'fault', httpStatus, exitStatus: 70, sentence, remedy };
}

/** The door rejected the request: it never became a call. */
function turnedAway(httpStatus: number, sentence: string, remedy: string): RowOf<'usage'> {
  return { kind: 'usage', httpStatus, exitStatus: 64, sentence, remedy };
}

export const CODES = {
  ok: {
    kind: 'ok',
    httpStatus: 200,
    exitStatus: 0,
    sentence: 'The call ran and succeeded.',
    remedy: 'Nothing to do.',
  },
  'door/wrong-usage': {
    kind: 'usage',
    httpStatus: 400,
    exitStatus: 64,
    sentence: 'The command line or the request is not valid.',
    remedy: 'Run the command with --help and correct what the message names.',
  },
  'door/invalid-call': refused(
    400,
    'The principal, tenant, run, tool name or time limit of the call is not valid.',
    'Correct the field that the message names and repeat the call.',
  ),
  'door/unauthenticated': turnedAway(
    401,
    'The request carries no valid credential.',
    'Send `Authorization: Bearer TOKEN` with a token from `palisade token create`.',
  ),
  'door/insufficient-scope': turnedAway(
    403,
    'The credential lacks the scope for this request.',
    'Use a token with the scope that the message names: `palisade token create --scopes SCOPE`.',
  ),
  'door/forbidden-origin': turnedAway(
    403,
    'The Host or Origin header of the request is not allowed.',
    'Add the host to `http.allowed_hosts` or the origin to `http.allowed_origins` in palisade.toml.',
  ),
  'door/not-found': turnedAway(
    404,
    'The path does not exist, or the caller may not see what is there.',
    'See /openapi.json for the paths that exist.',
  ),
  'door/method-not-allowed': turnedAway(
    405,
    'The path does not support this method.',
    'Use one of the methods in the Allow header.',
  ),
  'door/timed-out': turnedAway(
    408,
    'The request was not received in time.',
    'Send the whole request without pauses.',
  ),
  'door/too-large': turnedAway(
    413,
    'The request body is too large.',
    'Send a smaller body, or raise `http.max_body_bytes` in palisade.toml.',
  ),
  'door/unsupported-media': turnedAway(
    415,
    'The content type of the body is not supported here.',
    'Send the content type that the message names.',
  ),
  'door/rate-limited': turnedAway(
    429,
    'This credential exceeded its request rate or its number of concurrent calls.',
    'Wait for the time in the Retry-After header and try again.',
  ),
  'door/draining': turnedAway(
    503,
    'The gateway is shutting down and accepts no more calls.',
    'Try again in a moment, or use another gateway.',
  ),
  'door/already-serving': turnedAway(
    409,
    'Another process already serves this state directory.',
    'Stop that process first, or choose another directory with --state.',
  ),
  'door/call-open': refused(
    409,
    'A call with this idempotency key is still running.',
    'Wait until it has ended, then repeat the identical request.',
  ),
  'door/idempotency-conflict': refused(
    422,
    'This idempotency key was already used for a different call.',
    'Use a new key for a new call.',
  ),
  'session/unknown': refused(
    404,
    'No session of this caller has this id, or it is over.',
    'Leave the run out, or name one of your own; `palisade session list` shows them.',
  ),
  'session/too-many': turnedAway(
    429,
    'The credential may not begin another session now.',
    'Use a token that may: `palisade token create --principal service:NAME --sessions N`.',
  ),
  'token/unknown': turnedAway(404, 'No token has this id.', 'List them with `palisade token list`.'),
  'run/unknown': turnedAway(
    404,
    'No call has this id, or the caller may not see it.',
    'List calls with `palisade journal search`.',
  ),
  'upstream/unknown': turnedAway(
    404,
    'No upstream server has this name.',
    'List them with `palisade upstream list`.',
  ),
  'upstream/quarantined': refused(
    403,
    'The tools of the upstream server differ from those that were accepted.',
    'Review the difference with `palisade upstream show NAME`, then run `palisade upstream approve NAME`.',
  ),
  'tier/upstream-failed': failed(
    422,
    'The upstream server did not answer, or its answer violates the protocol.',
    'Read the message; run the command of the server by hand to find the cause.',
  ),
  'registry/unknown-tool': refused(
    404,
    'No tool has this name.',
    'List the tools with `palisade tools list`.',
  ),
  'registry/invalid-input': refused(
    422,
    'The input is not strict JSON, or does not match the schema of the tool.',
    'Read the schema with `palisade tools show TOOL` and correct the input.',
  ),
  'policy/denied': refused(
    403,
    'The policies do not permit this call.',
    'Run `palisade policy explain` with the same call, then ask the operator for a policy that permits it.',
  ),
  'policy/evaluation-error': refused(
    403,
    'A policy could not be evaluated, so the call is denied.',
    'Run `palisade policy check` and correct the policy that the message names.',
  ),
  'policy/unavailable': refused(
    503,
    'No valid policy set is loaded, so every call is denied.',
    'Run `palisade policy check`, correct the files in the policies directory, and call again.',
  ),
  'policy/invalid': turnedAway(
    422,
    'The policies that were sent are not valid, and nothing was replaced.',
    'Correct the listed problems; `POST /v1/policies/check` checks a set without replacing anything.',
  ),
  'policy/changed': turnedAway(
    409,
    'The policies were changed by another request in the meantime; nothing was replaced.',
    'Read the policies again, merge the changes, and send the current digest as `ifDigest`.',
  ),
  'policy/locks-out': turnedAway(
    409,
    'The new policies would lock this caller out of administration; nothing was replaced.',
    'Keep a policy that permits the caller the action "administer", or send `force` to accept the lock-out.',
  ),
  'policy/approval-required': refused(
    403,
    'The policies permit this call after a person has approved it.',
    'Have a user run `palisade approvals approve ID`, then repeat the identical call.',
  ),
  'policy/approval-denied': refused(
    403,
    'A person denied this call.',
    'Change the call, or ask the person who denied it.',
  ),
  'policy/approval-expired': refused(
    403,
    'The approval of this call expired before it was used.',
    'Have a user approve the new request that the message names, then repeat the identical call.',
  ),
  'approval/unknown': refused(
    404,
    'No approval request has this id.',
    'List the open requests with `palisade approvals list`.',
  ),
  'approval/not-pending': refused(
    409,
    'The approval request was already decided or used, or it has expired.',
    'Repeat the call to open a new request.',
  ),
  'approval/not-allowed': refused(
    403,
    'This principal is not permitted to decide approval requests.',
    'Decide as a user whom the policies permit the action "approve"; an agent can never approve.',
  ),
  'budget/calls-exhausted': refused(
    429,
    'A budget of calls is used up.',
    'Wait until the budget resets or raise it in palisade.toml.',
  ),
  'budget/wall-exhausted': refused(
    429,
    'A budget of wall-clock time is used up.',
    'Wait until the budget resets or raise it in palisade.toml.',
  ),
  'budget/cpu-exhausted': refused(
    429,
    'A budget of CPU time is used up.',
    'Wait until the budget resets or raise it in palisade.toml.',
  ),
  'budget/fuel-exhausted': refused(
    429,
    'A budget of fuel is used up.',
    'Wait until the budget resets or raise it in palisade.toml.',
  ),
  'budget/output-exhausted': refused(
    429,
    'A budget of output bytes is used up.',
    'Wait until the budget resets or raise it in palisade.toml.',
  ),
  'budget/egress-exhausted': refused(
    429,
    'A budget of network bytes is used up.',
    'Wait until the budget resets or raise it in palisade.toml.',
  ),
  'runner/invalid-workspace': refused(
    422,
    'The workspace is not a directory that commands may use.',
    'Name a directory below one of `process.workspaces` in palisade.toml.',
  ),
  'runner/outside-workspace': refused(
    403,
    'An argument or the working directory is outside the workspace.',
    'Use paths inside the workspace, or allow the path with `--read-only PATH` or `process.read_only` in palisade.toml.',
  ),
  'runner/not-found': refused(
    404,
    'The program is not installed, or the file is not executable.',
    'Name a program that is installed, or give the path of an executable file.',
  ),
  'runner/not-allowed': refused(
    403,
    'The operator does not allow this program.',
    'Add it to `process.executables` in palisade.toml, or use another program.',
  ),
  'runner/environment': refused(
    403,
    'The caller may not set this environment variable.',
    'Leave it out, or add it to `process.env` in palisade.toml.',
  ),
  'runner/invalid-limits': refused(
    422,
    'A limit of the command is not a whole number above zero.',
    'Use a whole number above zero.',
  ),
  'runner/egress-denied': refused(
    403,
    'The operator does not allow the network access that the command asks for.',
    'Use egress "strict", or change `process.egress` in palisade.toml.',
  ),
  'tier/unenforceable': refused(
    501,
    'This machine cannot enforce a term of the grant, so the call does not run.',
    'Run `palisade doctor` and apply the fix it names.',
  ),
  'tier/timed-out': failed(
    422,
    'The call exceeded its wall-clock limit and was stopped.',
    'Ask for less work, or raise the limit: `--timeout`, or `limits.wall_ms` in the input of a command; at most `ceilings.wall_ms` of palisade.toml, and `wasm.wall_ms` for a module.',
  ),
  'tier/cancelled': failed(
    499,
    'The caller cancelled the call.',
    'Repeat the call if the result is still needed.',
  ),
  'tier/output-exceeded': failed(
    422,
    'The output exceeded its limit and was truncated.',
    'Ask for less output, or raise the limit: `limits.output_bytes` in the input of a command; at most `ceilings.output_bytes` of palisade.toml.',
  ),
  'tier/invalid-output': failed(
    422,
    'The output of the tool does not match its own output schema.',
    'Report it to the author of the tool.',
  ),
  'tier/tool-error': failed(
    422,
    'The tool ran and reported an error.',
    'Read the message and the output; correct the input or the tool.',
  ),
  'tier/not-started': failed(
    422,
    'The command could not be started.',
    'Read the message; correct the command, or run `palisade doctor`.',
  ),
  'tier/unproven': failed(
    500,
    'The sandbox did not report the isolation that it had to enforce.',
    'Do not rely on what the command did; run `palisade doctor` and apply the fix it names.',
  ),
  'tier/exited': failed(
    422,
    'The command exited with an error status or was ended by a signal.',
    'Read the output of the command for the cause.',
  ),
  'tier/out-of-memory': failed(
    422,
    'The command exceeded its memory limit and was stopped.',
    'Ask for less work at once, or raise the memory limit where the ceiling allows it.',
  ),
  'tier/out-of-cpu': failed(
    422,
    'The command exceeded its CPU time limit and was stopped.',
    'Ask for less work, or raise the limit: `limits.cpu_time_ms` in the input of the command; at most `ceilings.cpu_ms` of palisade.toml.',
  ),
  'tier/out-of-fuel': failed(
    422,
    'The module ran out of fuel and was stopped.',
    'Ask for less work, or raise the fuel limit where the ceiling allows it.',
  ),
  'tier/trapped': failed(
    422,
    'The module trapped, or violated the rules of the ABI.',
    'Report it to the author of the tool, with the message.',
  ),
  'tier/invalid-module': failed(
    422,
    'The module cannot run: it is malformed, exceeds a limit, or imports something that was not granted.',
    'Run `palisade wasm inspect` on the module; rebuild it, or grant what it needs.',
  ),
  'tier/unknown-ending': failed(
    500,
    'The gateway stopped while the call was running; whether it took effect is not known.',
    'Check the effects of the call before you repeat it.',
  ),
  'tier/withdrawn': failed(
    409,
    'The skill was withdrawn while the call ran, so the call was ended.',
    'See why with `palisade skill show ID`; check the effects of the call before you repeat it.',
  ),
  'skill/unknown': refused(
    404,
    'No skill with this id or version is installed.',
    'List the skills with `palisade skill list`.',
  ),
  'skill/invalid-manifest': refused(
    422,
    'skill.toml is not valid.',
    'Correct the lines that the message names; docs/skill-package.md has every key.',
  ),
  'skill/invalid-package': refused(
    422,
    'The file is not a valid skill package, or it is malicious.',
    'Ask the author to pack it again with `palisade skill pack`.',
  ),
  'skill/unsigned': refused(
    403,
    'The package is not signed.',
    'Ask the publisher to sign it with `palisade skill sign`.',
  ),
  'skill/bad-signature': refused(
    403,
    'The signature of the package does not match its content.',
    'Do not use it; get the package again from its publisher.',
  ),
  'skill/untrusted': refused(
    403,
    'The key that signed the package is not trusted for its publisher.',
    'Verify the key with the publisher, then run `palisade trust add PUBLISHER KEY`; `palisade trust list` shows the trusted keys.',
  ),
  'skill/downgrade': refused(
    409,
    'The package is older than a version that was installed before.',
    'Install a newer version, or allow it with --allow-downgrade.',
  ),
  'skill/conflict': refused(
    409,
    'It conflicts with what is installed, or was changed by another request at the same time.',
    'Review it with `palisade skill show ID`, then try again.',
  ),
  'skill/incompatible': refused(
    422,
    'The skill requires another version of palisade.',
    'Use a version of palisade that matches [compat] in its manifest.',
  ),
  'skill/audit-failed': refused(
    422,
    'The audit of the skill found problems that prevent it from running.',
    'Read the findings with `palisade skill audit ID`; ask its author for a corrected version.',
  ),
  'skill/wrong-state': refused(
    409,
    'This is not possible in the current state of the skill.',
    'See its state with `palisade skill show ID`.',
  ),
  'skill/invalid-grant': refused(
    422,
    'The grant names something that the skill does not request, or leaves out something that it requires.',
    'See what it requests with `palisade skill show ID`.',
  ),
  'skill/quarantined': refused(
    403,
    'The skill is quarantined: this version has not been approved.',
    'Review it with `palisade skill audit ID`, then run `palisade skill approve ID`.',
  ),
  'skill/disabled': refused(403, 'The skill is disabled.', 'Enable it with `palisade skill enable ID`.'),
  'skill/failed': refused(
    403,
    'The skill trapped again and again, and was taken out of use.',
    'Read why with `palisade log CALL`; an operator enables it again with `palisade skill enable ID`.',
  ),
  'skill/revoked': refused(
    403,
    'The skill was revoked and cannot run again.',
    'Use another skill, or a version that was not revoked.',
  ),
  'skill/changed': refused(
    403,
    'The package on disk differs from the approved one, so it was quarantined.',
    'Find out what changed the state directory, then install the package again.',
  ),
  'skill/tests-failed': failed(
    422,
    'Some test cases of the skill failed.',
    'Read the differences; correct the skill or its cases.',
  ),
  'skill/build-failed': failed(
    422,
    'The modules of the skill could not be built.',
    'Read the output of the compiler and correct the source.',
  ),
  'oci/failed': failed(
    502,
    'The registry could not be reached, or its answer cannot be used.',
    'Read the message; try again, or ask the operator of the registry.',
  ),
  'oci/unknown': refused(
    404,
    'The registry has nothing under this name.',
    'Check the spelling; `palisade skill search HOST/NAME` lists the tags of a repository.',
  ),
  'oci/denied': refused(
    403,
    'The registry requires a log-in, or does not permit this with the one that it got.',
    'Set the log-in that the message names with `palisade secrets set NAME`, as USER:PASSWORD.',
  ),
  'oci/not-allowed': refused(
    403,
    'A registry leads to a host that may not be used for this.',
    'If the host belongs to the registry, name it in its [[registry]] of palisade.toml; docs/sharing.md explains the keys.',
  ),
  'oci/mismatch': refused(
    502,
    'The registry answered with other bytes than those that their digest names.',
    'Do not use it; ask the publisher for the digest, and the operator of the registry for the cause.',
  ),
  'oci/not-a-skill': refused(
    422,
    'What the registry has under this name is not a skill.',
    'Name one that was pushed with `palisade skill push`; `palisade skill search HOST/NAME` lists them.',
  ),
  'oci/moved': refused(
    409,
    'The tag stands for something else than before.',
    'Ask the publisher; name the digest, or accept the change with the flag that the message names.',
  ),
  'package/unknown': refused(
    404,
    'The package of the server was not fetched.',
    'Fetch it with `palisade package add -- COMMAND`; list the packages with `palisade package list`.',
  ),
  'package/refused': refused(
    422,
    'The command line or the package cannot be used.',
    'Read the message; install the server yourself and wrap the installed program with --read-only.',
  ),
  'package/changed': refused(
    403,
    'The files of the package differ from those that were fetched.',
    'Find out what changed them, then fetch the package again with `palisade package update SOURCE`.',
  ),
  'package/fetch-failed': failed(
    502,
    'The package could not be fetched.',
    'Read the output of the installer; allow another host of the registry with `palisade package add --allow-host ENTRY`.',
  ),
  'journal/unknown-record': refused(
    404,
    'No journal record or receipt has this number or call id.',
    'Search with `palisade journal search`.',
  ),
  'attest/unverified': {
    kind: 'failed',
    httpStatus: 422,
    exitStatus: 1,
    sentence: 'The receipt, proof, key or journal does not verify.',
    remedy: 'Do not rely on it; the first failed check says where it differs.',
  },
  'attest/missing-key': refused(
    503,
    'The signing key is missing or unreadable, so no receipt could be signed and nothing runs.',
    'Restore keys/ of the state directory from a backup, or start a new key with `palisade keys rotate --lost`.',
  ),
  'config/invalid': refused(
    400,
    'palisade.toml is not valid, so nothing runs.',
    'Correct the line that the message names; docs/config.md lists every key.',
  ),
  'store/unwritable': refused(
    503,
    'The state directory is not readable and writable by this user alone.',
    'Make this user the owner of the state directory with mode 0700, or choose another with --state.',
  ),
  'store/full': refused(
    507,
    'The disk of the state directory is full, so nothing can be recorded and nothing runs.',
    'Free some space and call again.',
  ),
  'store/locked': refused(
    503,
    'Another process held the database for too long.',
    'Stop the process that holds it, or try again.',
  ),
  'store/corrupt': refused(
    503,
    'The database is damaged, so nothing runs.',
    'Run `palisade journal verify`; restore the state directory from a backup.',
  ),
  'store/newer': refused(
    503,
    'The state directory was written by a newer palisade.',
    'Upgrade palisade, or choose another state directory with --state.',
  ),
  'store/clock-behind': refused(
    503,
    'The clock of this machine is behind the last journal record.',
    'Correct the clock; if the clock is right and the journal is ahead, run `palisade doctor --accept-clock`.',
  ),
  'vault/missing': refused(
    404,
    'The vault has no secret with this name for this call.',
    'Set it with `palisade secrets set NAME`; `palisade secrets list` shows the existing ones.',
  ),
  'vault/locked': refused(
    503,
    'The key of the vault is not available, so no secret can be used.',
    'Restore `keys/vault.key` in the state directory, or set the passphrase; see docs/secrets.md.',
  ),
  'vault/unreadable': refused(
    503,
    'The vault cannot be decrypted: the key is a different one, or the data was changed.',
    'Restore the database and the vault key together, or set the secret again; see docs/secrets.md.',
  ),
  'wasm/malformed': refused(
    422,
    'The file is not a readable WebAssembly module.',
    'Use a core module in the binary format.',
  ),
  'wasm/invalid': refused(
    422,
    'The module is readable but does not validate.',
    'Rebuild it; the message has the reason and the offset.',
  ),
  'wasm/feature': refused(
    422,
    'The module uses a WebAssembly feature that is not allowed, or that this version of Node lacks.',
    'Build it without that feature; the compiler has a flag for each.',
  ),
  'wasm/limit': refused(
    422,
    'The module exceeds a limit.',
    'Reduce what the message names, or split the module.',
  ),
  'wasm/link': refused(
    422,
    'The module has imports that are not available.',
    'Build it without the imports that the message names.',
  ),
  'wasm/out-of-fuel': failed(
    422,
    'The call ran out of fuel.',
    'Give the call more fuel, or ask for less work.',
  ),
  'wasm/trapped': failed(
    422,
    'The module trapped.',
    'Correct the program; the message says which trap it was.',
  ),
  'gateway/fault': fault(
    500,
    'The gateway failed with an internal error while handling this call.',
    'Give the incident id to the operator; `palisade journal search --kind fault` shows it.',
  ),
} as const satisfies Record<string, CodeRow>;

export type Code = keyof typeof CODES;

/** Whether a text from outside is one of our codes. */
export function isCode(text: string): text is Code {
  return Object.hasOwn(CODES, text);
}
