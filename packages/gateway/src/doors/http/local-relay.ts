import { request } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import { formatPrincipal, type Principal } from '../../core/principal.ts';
import { AS_HEADER, LOCAL_MCP } from './local-client.ts';

/*
 * An MCP client whose server is the daemon of the state directory: bytes go from standard input to the local socket and
 * from there to standard output, and nothing of them is read. Nothing is taken from standard input before the daemon has
 * agreed, so that a process which it does not serve can serve the client itself.
 */

export type Relayed = {
  readonly socketPath: string;
  readonly principal: Principal;
  readonly version: string;
  readonly cwd: string;
  /** Of --workspace, as absolute paths. */
  readonly workspaces: readonly string[];
  readonly stdin: Readable;
  readonly stdout: Writable;
};

/** A daemon that does not agree by then is stuck: the process serves the client itself. */
const AGREE_WITHIN_MS = 1_000;

/** `refused`: no daemon serves this client. `ended`: the client left. `lost`: the daemon did. */
export type RelayEnding = 'refused' | 'ended' | 'lost';

/** Serves the client through the daemon until its input ends or the signal fires; by then its calls are on record. */
export function relayToDaemon(relayed: Relayed, signal: AbortSignal): Promise<RelayEnding> {
  const { socketPath, principal, version, cwd, workspaces, stdin, stdout } = relayed;
  const query = new URLSearchParams({ version, cwd });
  for (const each of workspaces) query.append('workspace', each);
  return new Promise((resolve) => {
    const asked = request({
      socketPath,
      path: `${LOCAL_MCP.path}?${query}`,
      agent: false,
      headers: {
        host: 'localhost',
        connection: 'Upgrade',
        upgrade: LOCAL_MCP.protocol,
        [AS_HEADER]: formatPrincipal(principal),
      },
    });
    asked.once('error', () => resolve('refused'));
    asked.setTimeout(AGREE_WITHIN_MS, () => asked.destroy());
    asked.once('response', (response) => {
      response.resume();
      resolve('refused');
    });
    asked.once('upgrade', (_response, socket, head) => {
      socket.setTimeout(0);
      let hasLeft = false;
      const leave = () => {
        hasLeft = true;
        stdin.unpipe(socket);
        socket.end();
      };
      stdin.once('end', leave).once('close', leave);
      signal.addEventListener('abort', leave, { once: true });
      socket.on('error', () => undefined);
      socket.once('close', () => {
        stdin.unpipe(socket).pause();
        resolve(hasLeft ? 'ended' : 'lost');
      });
      if (head.length > 0) stdout.write(head);
      socket.pipe(stdout, { end: false });
      if (signal.aborted || stdin.readableEnded) leave();
      else stdin.pipe(socket);
    });
    asked.end();
  });
}
