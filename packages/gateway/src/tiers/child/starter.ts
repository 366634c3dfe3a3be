/**
 * Starts the gateway's runs in a separate process, the launcher as a starter: Node can only start a child by forking
 * itself, which costs milliseconds and grows with its memory, and a child of Node does not reliably die with it. The
 * starter is small, and ends its whole tree when the gateway is gone for whatever reason. It is our code and trusted;
 * its children are not. Call this in the main thread.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { orElse } from '../../core/result.ts';
import {
  type End,
  type Exit,
  errorName,
  heldEnd,
  isSoundStart,
  killGroup,
  type LiveChild,
  type StartPlan,
} from './child.ts';
import { HandedSockets } from './handed-sockets.ts';
import { exactly } from './spawn-child.ts';
import {
  dropHanded,
  HandedServers,
  handedBy,
  isTooMuch,
  killFrame,
  parseReply,
  type Reply,
  type Side,
  sidesOf,
  startFrame,
  tookFrame,
} from './starter-protocol.ts';

const REQUESTS = 3;
const HANDLES = 4;
const STANDARD_STREAMS = 3;
/** A starter that does not reply for this long is given up, with everything that it has started. */
const PATIENCE_MS = 10_000;
/** How long the runs of a starter that is gone have to end by themselves. */
const ORPHANS_MS = 500;
/** On the control descriptor, before the number of a port: the launcher connects to it. */
const ASK_FOR_SOCKET = 'C'.charCodeAt(0);
const GONE: Exit = { exitCode: null, signal: 'SIGKILL', spawnError: null };

/** The starter of a gateway. The process is started for the first plan, and again when it is gone. */
export class Starter {
  /** By the launcher's file; there is one, unless the launcher was reinstalled elsewhere since. */
  readonly #links = new Map<string, Link>();

  /** Starts a plan; a failure is the system's error name. Descriptors of the plan must stay open until then. */
  start(launcher: string, plan: StartPlan): Promise<LiveChild | string> {
    if (!isSoundStart(plan)) return Promise.resolve('EINVAL');
    try {
      return this.#linkTo(launcher).start(plan);
    } catch (error) {
      return Promise.resolve(errorName(error));
    }
  }

  /** The pid of the starter for this launcher, which is started where there is none; null where that fails. */
  pidOf(launcher: string): number | null {
    return orElse(() => this.#linkTo(launcher).pid, null);
  }

  /** Ends the starter and everything that it still runs. */
  close(): void {
    for (const link of this.#links.values()) link.close();
    this.#links.clear();
  }

  #linkTo(launcher: string): Link {
    const known = this.#links.get(launcher);
    if (known !== undefined && !known.isGone) return known;
    const link = new Link(launcher);
    this.#links.set(launcher, link);
    return link;
  }
}

type Run = {
  readonly plan: StartPlan;
  readonly answer: (child: LiveChild | string) => void;
  readonly exited: Promise<Exit>;
  readonly end: (exit: Exit) => void;
  readonly servers: HandedServers;
  readonly sockets: HandedSockets;
  pid: number | null;
};

/** One process of the starter, from its start to its end. */
class Link {
  /** Whether it no longer starts anything. */
  isGone = false;
  readonly #process: ChildProcess;
  readonly #socket: Duplex;
  readonly #runs = new Map<number, Run>();
  #lastId = 0;
  #rest = '';

  constructor(launcher: string) {
    const words = ['mode=serve', `requests=${REQUESTS}`, `handles=${HANDLES}`];
    this.#process = spawn(launcher, words, {
      argv0: 'palisade-launcher',
      cwd: '/',
      env: exactly({}),
      // Not reached by signals to the terminal's group: it ends only after its runs have ended.
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#process.once('error', (error) => this.#onGone(errorName(error)));
    this.#process.on('message', (message, handle) => this.#onHandle(message, handle));
    this.#process.channel?.unref();
    const socket = this.#process.stdio?.[REQUESTS];
    // When descriptors run out, Node leaves out the list.
    if (!(socket instanceof Duplex)) throw Object.assign(new Error('no descriptors'), { code: 'EMFILE' });
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', () => undefined);
    socket.once('close', () => this.#onGone('ESRCH'));
    this.#holdOpen(false);
  }

  get pid(): number | null {
    return this.#process.pid ?? null;
  }

  start(plan: StartPlan): Promise<LiveChild | string> {
    this.#lastId += 1;
    const id = this.#lastId;
    const request = startFrame(id, plan);
    if (isTooMuch(plan, request)) return Promise.resolve('E2BIG');
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.close('SIGKILL'), PATIENCE_MS);
      const answer = (child: LiveChild | string) => {
        clearTimeout(timer);
        resolve(child);
      };
      let end: Run['end'] = () => undefined;
      const exited = new Promise<Exit>((settle) => {
        end = settle;
      });
      const servers = new HandedServers(listenersOf(plan));
      const sockets = new HandedSockets();
      void exited.then(() => {
        servers.close();
        sockets.close();
      });
      this.#runs.set(id, { plan, answer, exited, end, servers, sockets, pid: null });
      this.#holdOpen(true);
      this.#socket.write(request);
    });
  }

  /** A starter that does not answer would not react to an order either: it is killed. */
  close(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): void {
    // Boundary: Node uses pid 0 for a process that never started, and a signal to 0 reaches our own process group.
    if (this.#process.pid !== undefined) this.#process.kill(signal);
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    const lines = (this.#rest + chunk.toString('latin1')).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const reply = parseReply(line);
      if (reply === null) this.close();
      else this.#onReply(reply);
    }
  }

  #onReply(reply: Reply): void {
    const run = this.#runs.get(reply.id);
    if (run === undefined) return;
    if (reply.kind === 'started') {
      run.pid = reply.pid;
      run.answer(this.#take(reply.id, run, reply.numbers));
      return;
    }
    if (reply.kind === 'failed') run.answer(reply.error);
    run.end(reply.kind === 'failed' ? GONE : reply.exit);
    this.#runs.delete(reply.id);
    if (this.#runs.size === 0) this.#holdOpen(false);
  }

  #onHandle(message: unknown, handle: unknown): void {
    const handed = handedBy(message, handle);
    // It is our code, so an invalid message is a bug.
    if (handed === null) {
      this.close();
      return;
    }
    const run = this.#runs.get(handed.run);
    if (run === undefined) dropHanded(handed);
    else if (handed.kind === 'listener') run.servers.take(handed.index, handed.server);
    else run.sockets.take(handed.index, handed.socket);
  }

  #take(id: number, { plan, exited, servers, sockets }: Run, numbers: readonly number[]): LiveChild | string {
    const left = [...numbers];
    const opened: (End | null)[] = [];
    // Boundary: the pid of a process that was waited for may belong to another one by now.
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return 'ESRCH';
    try {
      for (const side of sidesOf(plan)) opened.push(side === null ? null : this.#open(left.shift(), side));
    } catch (error) {
      for (const end of opened) end?.destroy();
      this.#socket.write(killFrame(id));
      return errorName(error);
    } finally {
      this.#socket.write(tookFrame(id));
    }
    const [stdin, stdout, stderr] = opened.map((end) => (end instanceof Duplex ? end : null));
    const kill = () => {
      if (this.#runs.has(id)) this.#socket.write(killFrame(id));
    };
    const ends = opened.slice(STANDARD_STREAMS);
    const control = ends[plan.descriptors.findIndex(({ role }) => role === 'control')];
    sockets.open((port) => control?.write(Buffer.from([ASK_FOR_SOCKET, port])));
    return {
      ...{ stdin: stdin ?? null, stdout: stdout ?? null, stderr: stderr ?? null },
      ...{ ends, exited, kill, servers: servers.all, connect: (port) => sockets.connect(port) },
    };
  }

  #open(number: number | undefined, side: Side): End | null {
    const path = `/proc/${this.#process.pid}/fd/${number}`;
    const access = side === 'reads' ? constants.O_RDONLY : constants.O_WRONLY;
    let fd: number;
    try {
      fd = openSync(path, access | constants.O_NONBLOCK | constants.O_NOCTTY);
    } catch (error) {
      // Its reader has already ended.
      if (side !== 'reads' && errorName(error) === 'ENXIO') return null;
      if (errorName(error) !== 'ENOENT') throw error;
      // The starter and its descriptors are gone; its socket has not reported that yet.
      this.isGone = true;
      throw Object.assign(new Error('no starter'), { code: 'ESRCH' });
    }
    if (side === 'holds') return heldEnd(fd);
    try {
      return new Socket({ fd, readable: side === 'reads', writable: side === 'writes' });
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  #onGone(error: string): void {
    this.isGone = true;
    for (const { pid, answer, end } of this.#runs.values()) {
      answer(error);
      if (pid === null) end(GONE);
      else this.#endOrphan(pid, end);
    }
    this.#runs.clear();
  }

  #endOrphan(pid: number, end: Run['end']): void {
    // The kernel signals the processes that requested it, and they end what they have started; a kill now would
    // interrupt them. What was still being set up has not requested it yet, and may be left behind.
    const timer = setTimeout(() => {
      killGroup(pid);
      end(GONE);
    }, ORPHANS_MS);
    const onExit = (status: number | null) => {
      // Only a starter that has ended its whole tree reports success; there is nothing left to wait for.
      if (status !== 0) return;
      clearTimeout(timer);
      end(GONE);
    };
    if (this.#process.exitCode === null) this.#process.once('exit', onExit);
    else onExit(this.#process.exitCode);
  }

  /** Between runs it must not keep the gateway alive. */
  #holdOpen(isHeld: boolean): void {
    const socket = this.#socket instanceof Socket ? this.#socket : null;
    if (isHeld) {
      this.#process.ref();
      socket?.ref();
    } else {
      this.#process.unref();
      socket?.unref();
    }
  }
}

function listenersOf({ descriptors }: StartPlan): number {
  return descriptors.reduce((sum, each) => sum + (each.role === 'handles' ? each.count : 0), 0);
}
