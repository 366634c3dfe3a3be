import { CODES } from '@palisade/sdk';
import { sentenceOf } from '../../../core/result.ts';
import { DEFAULT_PORTS, formatAuthority, parseAuthority, parseHttpUrl } from '../../../egress/authority.ts';
import { decide, type EgressDecision, type EgressRequest } from '../../../egress/decide.ts';
import { type RunnerSettings, settingsOf } from '../../../runner/settings.ts';
import { textOf, wrongUsage } from '../input.ts';
import { withRecords } from '../opened.ts';
import type { Invocation } from '../verb.ts';

const OPENED = 'TLS to this host is intercepted for commands: method and path are checked';
const CLOSED = 'TLS to this host is not intercepted; set process.egress_intercept';

/** Shows how the allow-list decides a request, and what it means for commands. Nothing is resolved and nothing is sent. */
export async function explain(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const [target = ''] = args;
  const method = textOf(invocation, 'method') ?? 'GET';
  return withRecords(invocation, ({ config }) => {
    const settings = settingsOf(config, null);
    const { entries } = settings.egressHosts;
    const request = requestOf(target, method);
    const decision = decide(settings.egressHosts, request);
    const isAllowed = decision.verdict === 'allow';
    const asked = formatAuthority(request.host, request.port);
    const seen = seenBy(settings, request, decision);
    print.result({ target, asked, ...decision, entries, ...seen }, () => {
      print.styled(isAllowed ? 'green' : 'red', isAllowed ? 'allowed' : 'denied ', ` ${asked}`);
      print.line(decision.why);
      if (entries.length === 0)
        print.line('The allow-list is empty: add process.egress_hosts to palisade.toml.');
      for (const note of seen.notes) print.line(note);
    });
    return isAllowed ? 0 : CODES['policy/denied'].exitStatus;
  });
}

/** A URL has all that an entry can name; of a host with a port, method and path are unknown, as in a tunnel. */
function requestOf(target: string, method: string): EgressRequest {
  if (target.includes('://')) {
    const url = parseHttpUrl(target);
    if (url.ok) return { ...url.value, method };
    throw wrongUsage(sentenceOf(url.problem));
  }
  const authority = parseAuthority(target);
  if (!authority.ok) throw wrongUsage(sentenceOf(authority.problem));
  return { host: authority.value.host, port: authority.value.port ?? DEFAULT_PORTS.https };
}

/** What the proxy of a command sees of the request, and the secrets that it would put in. */
function seenBy(settings: RunnerSettings, request: EgressRequest, { verdict }: EgressDecision) {
  const { host, port, scheme } = request;
  const intercepted = scheme !== 'http' && settings.isIntercepted(host);
  const isOpaque = scheme !== 'http' && !intercepted;
  const secrets = [...settings.secrets.values()].filter(({ isFor }) => isFor(host, port));
  const notes = [
    ...(intercepted ? [`${OPENED}${scheme === undefined ? '; give a URL to check them' : ''}.`] : []),
    ...(isOpaque && verdict === 'allow' && decide(settings.egressHosts, { host, port }).verdict === 'deny'
      ? [`A command cannot send it: ${CLOSED}.`]
      : []),
    ...secrets.map(({ name, variable }) =>
      isOpaque
        ? `The secret "${name}" is for this host and cannot be inserted: ${CLOSED}.`
        : `The secret "${name}" is for this host; a command that uses it has its placeholder in ${variable}.`,
    ),
  ];
  return { intercepted, secrets: secrets.map(({ name }) => name), notes };
}
