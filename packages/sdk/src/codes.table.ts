/**
 * Every way a call or a command can end, in one table. HTTP status, CLI exit status, MCP result, console text and
 * docs/errors.md are all read from here; nothing reads a message to learn what happened.
 *
 * - refused: we said no before anything ran.
 * - failed: it ran and did not end well; output and usage come with it.
 * - fault: we broke; the incident is in the journal where the journal could still be written.
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

/** The door itself turned the request away: no call came of it. */
function turnedAway(httpStatus: number, sentence: string, remedy: string): RowOf<'usage'> {
  return { kind: 'usage', httpStatus, exitStatus: 64, sentence, remedy };
}

export const CODES = {
  ok: {
    kind: 'ok',
    httpStatus: 200,
    exitStatus: 0,
    sentence: 'The call ran and ended well.',
    remedy: 'Nothing to do.',
  },
  'door/wrong-usage': {
    kind: 'usage',
    httpStatus: 400,
    exitStatus: 64,
    sentence: 'The command line or the request is not one this door understands.',
    remedy: 'Run the command with --help and correct the words.',
  },
  'door/invalid-call': refused(
    400,
    'The call names no valid principal, tenant, run, tool or time limit.',
    'Correct the field that the message names and call again.',
  ),
  'door/unauthenticated': turnedAway(
    401,
    'The request brings no credential that is good here.',
    'Send `Authorization: Bearer TOKEN` with a token of `palisade token create`.',
  ),
  'door/insufficient-scope': turnedAway(
    403,
    'The credential is not good for this.',
    'Use a token that was created with the scope that the message names.',
  ),
  'door/forbidden-origin': turnedAway(
    403,
    'The request is for another host, or comes from a web page that may not ask.',
    'Name the host in http.allowed_hosts or the page in http.allowed_origins of palisade.toml.',
  ),
  'door/not-found': turnedAway(
    404,
    'There is nothing at that address, or nothing that this caller may see.',
    'See /openapi.json for what there is.',
  ),
  'door/method-not-allowed': turnedAway(
    405,
    'The address is there, and does not take this method.',
    'Use one of the methods that the header Allow names.',
  ),
  'door/timed-out': turnedAway(408, 'The request did not come in in time.', 'Send it in one go.'),
  'door/too-large': turnedAway(
    413,
    'The request is larger than this door takes.',
    'Send less, or have the operator raise http.max_body_bytes.',
  ),
  'door/unsupported-media': turnedAway(
    415,
    'The body is of a type that this address does not take.',
    'Send the content type that the message names.',
  ),
  'door/rate-limited': turnedAway(
    429,
    'This credential asks more often, or has more calls running, than it may.',
    'Wait for as long as the header Retry-After says.',
  ),
  'door/draining': turnedAway(
    503,
    'The gateway is about to stop and takes no more calls.',
    'Try again in a moment, or at another gateway.',
  ),
  'door/already-serving': turnedAway(
    409,
    'Another process serves this state directory.',
    'Stop that one first, or choose another directory with --state.',
  ),
  'door/call-open': refused(
    409,
    'A call with this idempotency key is still running.',
    'Wait for it to end and repeat the identical request.',
  ),
  'door/idempotency-conflict': refused(
    422,
    'This idempotency key was used for another call.',
    'Use a new key for a new call.',
  ),
  'token/unknown': turnedAway(404, 'There is no token of that id.', 'List them with `palisade token list`.'),
  'run/unknown': turnedAway(
    404,
    'There is no call of that id, or none that this caller may see.',
    'List calls with `palisade journal search`.',
  ),
  'upstream/unknown': turnedAway(
    404,
    'There is no upstream server of that name.',
    'List them with `palisade upstream list`.',
  ),
  'upstream/quarantined': refused(
    403,
    'The upstream server offers other tools than those that were accepted.',
    'Look at the difference with `palisade upstream show NAME`, then run `palisade upstream approve NAME`.',
  ),
  'tier/upstream-failed': failed(
    502,
    'The upstream server did not answer, or not as its protocol says.',
    'See the message; run its command by hand to find out why.',
  ),
  'registry/unknown-tool': refused(
    404,
    'No tool of that name is registered.',
    'List the tools with `palisade tools list`.',
  ),
  'registry/invalid-input': refused(
    422,
    'The input is not strict JSON or does not fit the schema of the tool.',
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
    'Correct what the problems name, and try it with `POST /v1/policies/check` first.',
  ),
  'policy/changed': turnedAway(
    409,
    'Somebody else changed the policies meanwhile, and nothing was replaced.',
    'Read the policies again, take over what changed, and send `ifDigest` as it is now.',
  ),
  'policy/locks-out': turnedAway(
    409,
    'Under the new policies this caller could not administer any more, and nothing was replaced.',
    'Keep a policy that permits "administer" to the caller, or send `force` if that is meant.',
  ),
  'policy/approval-required': refused(
    403,
    'The policies permit this call once a person approves it.',
    'Have a user run `palisade approvals approve ID`, then repeat the identical call.',
  ),
  'policy/approval-denied': refused(
    403,
    'A person denied this very call.',
    'Change the call, or ask the person who denied it.',
  ),
  'policy/approval-expired': refused(
    403,
    'The approval of this call expired before it was used.',
    'Have a user approve the new request that the message names, then repeat the identical call.',
  ),
  'approval/unknown': refused(
    404,
    'There is no approval request with that id.',
    'List the open requests with `palisade approvals list`.',
  ),
  'approval/not-pending': refused(
    409,
    'The approval request was already decided, used or has expired.',
    'Repeat the call to open a new request.',
  ),
  'approval/not-allowed': refused(
    403,
    'This principal may not decide approval requests.',
    'Decide as a user whom the policies permit the action "approve"; an agent never decides.',
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
    'The workspace is no directory that a command may work in.',
    'Name a directory below one of `process.workspaces` in palisade.toml.',
  ),
  'runner/outside-workspace': refused(
    403,
    'An argument or the working directory leads out of the workspace.',
    'Name paths inside the workspace, or add the place to `process.read_only` in palisade.toml.',
  ),
  'runner/not-found': refused(
    404,
    'There is no such program on this machine, or the file cannot be executed.',
    'Name a program that is installed, or give the path of an executable file.',
  ),
  'runner/not-allowed': refused(
    403,
    'The operator does not let this program run.',
    'Add it to `process.executables` in palisade.toml, or use another program.',
  ),
  'runner/environment': refused(
    403,
    'A variable of the environment may not be set by a caller.',
    'Leave it out; `process.env` in palisade.toml lists those that may be set.',
  ),
  'runner/invalid-limits': refused(
    422,
    'A limit of the command is no whole number above zero.',
    'Ask for a whole number above zero.',
  ),
  'runner/egress-denied': refused(
    403,
    'The command would reach the network in a way that the operator does not allow.',
    'Ask for egress "strict", or have the operator change `process.egress` in palisade.toml.',
  ),
  'tier/unenforceable': refused(
    501,
    'This machine cannot enforce a term of the grant, so the call does not run.',
    'Run `palisade doctor` and apply the fix it names.',
  ),
  'tier/timed-out': failed(
    504,
    'The call passed its wall-clock limit and was stopped.',
    'Ask for less work, or raise the time limit where the ceiling allows it.',
  ),
  'tier/cancelled': failed(499, 'The caller cancelled the call.', 'Call again when the result is wanted.'),
  'tier/output-exceeded': failed(
    507,
    'The output passed its limit and was cut off.',
    'Ask for less output, or raise the output limit where the ceiling allows it.',
  ),
  'tier/invalid-output': failed(
    502,
    'The tool returned something that does not fit its own output schema.',
    'Report it to the author of the tool.',
  ),
  'tier/tool-error': failed(
    502,
    'The tool ran and reported an error.',
    'Read the message and the output; correct the input or the tool.',
  ),
  'tier/not-started': failed(
    502,
    'The command could not be started.',
    'Read the message; correct the command, or run `palisade doctor`.',
  ),
  'tier/unproven': failed(
    500,
    'The sandbox did not report that it held what it had to hold.',
    'Do not rely on what the command did; run `palisade doctor` and apply the fix it names.',
  ),
  'tier/exited': failed(
    502,
    'The command ran and ended with an error status or by a signal.',
    'Read its output; it says what went wrong.',
  ),
  'tier/out-of-memory': failed(
    507,
    'The command used up its memory and was stopped.',
    'Ask for less work at once, or raise the memory limit where the ceiling allows it.',
  ),
  'tier/out-of-cpu': failed(
    507,
    'The command used up its CPU time and was stopped.',
    'Ask for less work, or raise the CPU limit where the ceiling allows it.',
  ),
  'tier/out-of-fuel': failed(
    507,
    'The module used up its fuel and was stopped.',
    'Ask for less work, or raise the fuel limit where the ceiling allows it.',
  ),
  'tier/trapped': failed(
    502,
    'The module broke off: it trapped, or did what no module may do.',
    'Report it to the author of the tool, with the message.',
  ),
  'tier/invalid-module': failed(
    502,
    'The module cannot be run: it is malformed, past a limit, or wants what it was not granted.',
    'Run `palisade wasm inspect` on the module; build it anew, or grant what it needs.',
  ),
  'tier/unknown-ending': failed(
    500,
    'The gateway stopped while the call was running; whether it took effect is not known.',
    'Look at the effects of the call before repeating it.',
  ),
  'tier/withdrawn': failed(
    409,
    'The skill was taken out of use while the call ran, so the call was ended.',
    'See why with `palisade skill show ID`; look at the effects of the call before anything is repeated.',
  ),
  'skill/unknown': refused(
    404,
    'No skill of that id, or no such version of it, is installed.',
    'List the skills with `palisade skill list`.',
  ),
  'skill/invalid-manifest': refused(
    422,
    'skill.toml is not valid.',
    'Correct the lines that the message names; docs/skill-package.md has every key.',
  ),
  'skill/invalid-package': refused(
    422,
    'The file is no package of a skill, or one that is made to hurt.',
    'Have the author pack it anew with `palisade skill pack`.',
  ),
  'skill/unsigned': refused(
    403,
    'The package has no signature, so nobody answers for it.',
    'Have the publisher sign it with `palisade skill sign`.',
  ),
  'skill/bad-signature': refused(
    403,
    'The signature of the package is not over these very bytes.',
    'Do not use it; get the package from its publisher again.',
  ),
  'skill/untrusted': refused(
    403,
    'The key that signed the package is not trusted for its publisher.',
    'Compare the key with the publisher, then `palisade trust add PUBLISHER KEY`; `palisade trust list` shows what is trusted.',
  ),
  'skill/downgrade': refused(
    409,
    'The package is older than one that was installed before.',
    'Install a newer version, or say that it is meant with --allow-downgrade.',
  ),
  'skill/conflict': refused(
    409,
    'It collides with what is installed, or somebody else changed it at the same time.',
    'Look at it with `palisade skill show ID`, then try again.',
  ),
  'skill/incompatible': refused(
    422,
    'The skill wants another palisade than this one.',
    'Use a version of palisade that its manifest names under [compat].',
  ),
  'skill/audit-failed': refused(
    422,
    'The audit of the skill found what must not run.',
    'Read the findings with `palisade skill audit ID`; a corrected version has to come from its author.',
  ),
  'skill/wrong-state': refused(
    409,
    'The skill is in a state in which this cannot be done.',
    'See its state with `palisade skill show ID`.',
  ),
  'skill/invalid-grant': refused(
    422,
    'The grant names something that the skill does not ask for, or that cannot be left out.',
    'See what it asks for with `palisade skill show ID`.',
  ),
  'skill/quarantined': refused(
    403,
    'The skill is in quarantine: nobody has approved these very bytes.',
    'Look at it with `palisade skill audit ID`, then `palisade skill approve ID`.',
  ),
  'skill/disabled': refused(
    403,
    'The skill is switched off.',
    'Switch it on with `palisade skill enable ID`.',
  ),
  'skill/revoked': refused(
    403,
    'The skill was revoked; it does not run again.',
    'Use another skill, or a version that was not revoked.',
  ),
  'skill/changed': refused(
    403,
    'The package on the disk is not the one that was approved, so it was put into quarantine.',
    'Find out who changed the state directory; install the package again.',
  ),
  'skill/tests-failed': failed(
    422,
    'Not all test cases of the skill ended as they should.',
    'Read which ones differ; correct the skill or the cases.',
  ),
  'skill/build-failed': failed(
    422,
    'The modules of the skill could not be built.',
    'Read what the compiler says, and correct the source.',
  ),
  'journal/unknown-record': refused(
    404,
    'There is no journal record or receipt with that number or call id.',
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
    'Correct the line that the message names; `palisade config show` lists every key.',
  ),
  'store/unwritable': refused(
    503,
    'The state directory cannot be read and written by this user alone.',
    'Give the state directory to this user with mode 0700, or choose another with --state.',
  ),
  'store/full': refused(
    507,
    'The disk of the state directory is full, so nothing can be recorded and nothing runs.',
    'Free some space and call again.',
  ),
  'store/locked': refused(
    503,
    'Another process held the database for too long.',
    'End the process that holds it, or try again.',
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
    'Set the clock right; if the journal is wrong and the clock is right, run `palisade doctor --accept-clock`.',
  ),
  'vault/missing': refused(
    404,
    'The vault has no secret of that name for this call.',
    'Set it with `palisade secrets set NAME`; `palisade secrets list` shows what there is.',
  ),
  'vault/locked': refused(
    503,
    'The key of the vault is not at hand, so no secret can be used.',
    'Restore `keys/vault.key` of the state directory, or give the passphrase; see docs/secrets.md.',
  ),
  'vault/unreadable': refused(
    503,
    'What the vault holds does not open: the key is another one, or something was changed.',
    'Restore the database and the key of the vault together, or set the secret anew; see docs/secrets.md.',
  ),
  'wasm/malformed': refused(
    422,
    'The file is no WebAssembly module that can be read.',
    'Give a core module in the binary format, as compilers write it.',
  ),
  'wasm/invalid': refused(
    422,
    'The module can be read, but its types do not fit together.',
    'Build it anew; the message has the reason and the place.',
  ),
  'wasm/feature': refused(
    422,
    'The module uses a feature of WebAssembly that is not allowed, or that this Node does not have.',
    'Build it without that feature; the compiler has a flag for each.',
  ),
  'wasm/limit': refused(
    422,
    'The module is past a limit.',
    'Make smaller what the message names, or split the module.',
  ),
  'wasm/link': refused(
    422,
    'The module imports what it cannot be given.',
    'Build it without the imports that the message names.',
  ),
  'wasm/out-of-fuel': failed(
    507,
    'The fuel of the call ran out before it ended.',
    'Give the call more fuel, or ask for less work.',
  ),
  'wasm/trapped': failed(
    502,
    'The module ran and was stopped by a trap.',
    'Correct the program; the message says which trap it was.',
  ),
  'gateway/fault': fault(
    500,
    'The gateway broke while handling this call.',
    'Give the incident id to the operator; `palisade journal search --kind fault` shows it.',
  ),
} as const satisfies Record<string, CodeRow>;

export type Code = keyof typeof CODES;

/** Tells whether a text from outside is one of our codes. */
export function isCode(text: string): text is Code {
  return Object.hasOwn(CODES, text);
}
