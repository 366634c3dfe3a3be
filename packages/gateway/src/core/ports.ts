/** Ports of runs that are reachable from the host, and the texts that they are asked for and granted by. */
import { quote } from './hostile-text.ts';
import type { Json } from './json.ts';
import { accept, type Result, reject } from './result.ts';

/** A port of loopback on the host that leads to one of loopback in the network of a run. */
export type PortForward = { readonly host: number; readonly inside: number };

/** From one port to another, both included. */
export type PortRange = { readonly from: number; readonly to: number };

/** The most that one run has. */
export const MOST_PORTS = 8;
/** Those below need a privilege, on the host and inside. */
const FIRST_PORT = 1024;
const LAST_PORT = 65_535;
const EXPECTED = `a port from ${FIRST_PORT} to ${LAST_PORT}, or HOST:INSIDE`;

/** Reads a port as a call asks for it: a number, its text, or "8080:5173" for another number on the host. */
export function parsePort(raw: Json): Result<PortForward, string> {
  const text = typeof raw === 'number' ? String(raw) : raw;
  const [, host = '', inside = host] =
    typeof text === 'string' ? (/^([0-9]{1,5})(?::([0-9]{1,5}))?$/.exec(text) ?? []) : [];
  if (isPort(host) && isPort(inside)) return accept({ host: Number(host), inside: Number(inside) });
  return reject(`is ${typeof text === 'string' ? quote(text) : 'something else'}, expected ${EXPECTED}`);
}

/** Reads the ports of a call; each port of the host can be had once. */
export function parsePorts(list: readonly Json[]): Result<readonly PortForward[], string> {
  const ports: PortForward[] = [];
  for (const [i, raw] of list.entries()) {
    const port = parsePort(raw);
    if (!port.ok) return reject(`ports[${i}] ${port.problem}`);
    const { host } = port.value;
    if (ports.some((each) => each.host === host))
      return reject(`ports has port ${host} of the host twice, expected it once`);
    ports.push(port.value);
  }
  return accept(ports);
}

/** Reads an entry of `process.ports`: "5173" or "8000-8999"; null where it is something else. */
export function parsePortRange(text: string): PortRange | null {
  const [, from = '', to = from] = /^([0-9]{1,5})(?:-([0-9]{1,5}))?$/.exec(text) ?? [];
  return isPort(from) && isPort(to) && Number(from) <= Number(to)
    ? { from: Number(from), to: Number(to) }
    : null;
}

function isPort(text: string): boolean {
  return /^[1-9]/.test(text) && Number(text) >= FIRST_PORT && Number(text) <= LAST_PORT;
}

/** A forwarded port as it is asked for: one number where both are the same. */
export function formatPort({ host, inside }: PortForward): string {
  return host === inside ? String(host) : `${host}:${inside}`;
}

/** Where a client on the host reaches it, if it speaks HTTP. */
export function urlOfPort({ host }: PortForward): string {
  return `http://127.0.0.1:${host}`;
}
