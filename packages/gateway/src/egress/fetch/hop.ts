import type { Socket } from 'node:net';
import { formatAddress } from '../address.ts';
import { formatHost } from '../authority.ts';
import type { Site } from '../http-url.ts';
import { type Filled, fillIn } from '../secrets.ts';
import { connectTls, type Secured } from '../tls/connect.ts';
import { type Answer, converse, type Message } from './converse.ts';
import type { FetchRun } from './fetch-terms.ts';
import { type Failure, fail, give, type Hop, type Result } from './outcome.ts';
import { reach } from './reach.ts';
import { type Errand, tooLongHead } from './read-request.ts';
import { type Answered, isRedirect } from './redirect.ts';
import { formatMessage } from './request-message.ts';
import { formatUrl } from './url.ts';
import { tooMany } from './watch.ts';

/** Of a target that may know a secret nothing is quoted, since a part of the secret might be in it. */
const UNQUOTED = 'Cannot read response: it is malformed, expected HTTP/1.1';

/** Makes one request: decides on it, connects, sends it and reads its answer. It is noted as a hop whatever comes of it. */
export async function takeHop(errand: Errand, run: FetchRun): Promise<Result<Answer>> {
  const { terms, hops } = run;
  const { host, port, scheme, path } = errand.url;
  const asked = { host, port, scheme, method: errand.method, path };
  const filled = fillIn(errand.fields, asked, terms.secrets ?? []);
  const message = formatMessage({ ...errand, fields: filled.fields });
  const tooLarge = refuseSize(message, run);
  if (tooLarge !== null) return tooLarge;
  const { decision, connection } = await reach(asked, run);
  const { rule, verdict, why } = decision;
  const address = connection.ok ? formatAddress(connection.value.address) : null;
  const hop: Omit<Hop, 'status'> = {
    ...{ url: formatUrl(errand.url), host: formatHost(host), port, address },
    ...{ method: errand.method, rule, verdict },
  };
  const index = hops.push({ ...hop, status: null }) - 1;
  try {
    terms.onDecision?.({ ...hop, atMs: terms.clock.nowMs(), why, secrets: connection.ok ? filled.used : [] });
    if (!connection.ok) return connection;
    const answer = await exchange(connection.value.socket, message, asked, run);
    if (answer.ok) hops[index] = { ...hop, status: answer.value.status };
    return hideSecrets(answer, filled);
  } finally {
    if (connection.ok) connection.value.socket.destroy();
  }
}

/** Boundary: a target that repeats a secret, in a Location above all, gives back no more than its placeholder. */
function hideSecrets(answer: Result<Answer>, { isBound, hide }: Filled): Result<Answer> {
  if (!isBound) return answer;
  if (!answer.ok) return answer.code === 'malformed' ? fail('malformed', UNQUOTED) : answer;
  const fields = answer.value.fields.map((field) => ({ ...field, value: hide(field.value) }));
  return give({ ...answer.value, fields });
}

/** Boundary: what does not fit is known before anything leaves the machine. */
function refuseSize({ head, body }: Message, { limits, watch }: FetchRun): Failure | null {
  if (head.length > limits.requestHeaderBytes) return tooLongHead(limits);
  return watch.hasRoomFor(head.length + (body?.length ?? 0)) ? null : tooMany(limits);
}

async function exchange(
  socket: Socket,
  message: Message,
  { scheme, host }: Site,
  { terms, limits, watch }: FetchRun,
): Promise<Result<Answer>> {
  if (watch.failure !== null) return watch.failure;
  const secureTerms = { withinMs: limits.connectMs, signal: watch.signal, trust: terms.trust };
  const channel = scheme === 'https' ? ofTarget(await connectTls(socket, host, secureTerms)) : give(socket);
  if (!channel.ok) return watch.failure ?? channel;
  const wantsBody = (response: Answered) => limits.redirects === 0 || !isRedirect(response);
  return converse(channel.value, message, { watch, limits, wantsBody });
}

function ofTarget(secured: Secured): Result<Socket> {
  if (secured.ok) return give(secured.channel);
  return fail(secured.isLate ? 'too-slow' : 'unreachable', secured.why);
}
