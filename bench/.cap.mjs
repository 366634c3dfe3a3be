// ../../tmp/cap.ts
import { mkdirSync, mkdtempSync, chmodSync, rmSync } from "node:fs";
import { join } from "node:path";

// packages/gateway/src/core/limits.ts
var DEFAULT_LIMITS = {
  wallMs: 3e4,
  cpuMs: 3e4,
  fuel: 1e7,
  memoryBytes: 64 * 1024 * 1024,
  outputBytes: 1024 * 1024,
  egressBytes: 16 * 1024 * 1024
};
var LIMIT_CEILINGS = {
  wallMs: 15 * 6e4,
  cpuMs: 15 * 6e4,
  fuel: 1e10,
  memoryBytes: 4 * 1024 * 1024 * 1024,
  outputBytes: 64 * 1024 * 1024,
  egressBytes: 1024 * 1024 * 1024
};

// packages/gateway/src/core/coded-error.ts
import { CODES } from "@palisade/sdk";
var CodedError = class extends Error {
  name = "CodedError";
  code;
  remedy;
  constructor(code, message, options = {}) {
    super(message, options.cause === void 0 ? void 0 : { cause: options.cause });
    this.code = code;
    this.remedy = options.remedy ?? CODES[code].remedy;
  }
};

// packages/gateway/src/tiers/child/queue.ts
var MAX_TIMER_MS = 2147483647;
var LaunchQueue = class {
  #clock;
  /** In the order in which they came; calling one lets it in. */
  #waiting = /* @__PURE__ */ new Set();
  /** Above zero only while nobody waits. */
  #free;
  constructor({ width, clock: clock2 }) {
    if (!Number.isSafeInteger(width) || width < 1) {
      throw new RangeError(`Cannot make queue: its width is ${width}, expected a whole number from 1`);
    }
    this.#free = width;
    this.#clock = clock2;
  }
  /** Runs the work once there is a place for it; the place is free again when the work says so, or has settled. */
  async run(work, { signal, deadlineMs }) {
    if (signal.aborted) throw cancelled();
    const leftMs = deadlineMs - this.#clock.monotonicMs();
    if (!(leftMs > 0)) throw tooLate();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal, leftMs);
    let isInside = true;
    const leave2 = () => {
      if (isInside) this.#leave();
      isInside = false;
    };
    try {
      return await work(leave2);
    } finally {
      leave2();
    }
  }
  #wait(signal, leftMs) {
    return new Promise((resolve, reject) => {
      const stopWaiting = () => {
        this.#waiting.delete(enter);
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
      };
      const enter = () => {
        stopWaiting();
        resolve();
      };
      const giveUp2 = (why) => {
        stopWaiting();
        reject(why);
      };
      const onAbort = () => giveUp2(cancelled());
      const timer = setTimeout(() => giveUp2(tooLate()), Math.min(leftMs, MAX_TIMER_MS));
      signal.addEventListener("abort", onAbort);
      this.#waiting.add(enter);
    });
  }
  #leave() {
    const [next] = this.#waiting;
    if (next === void 0) this.#free += 1;
    else next();
  }
};
function cancelled() {
  return new CodedError("tier/cancelled", "Cannot start command: the caller cancelled it while it waited");
}
function tooLate() {
  return new CodedError(
    "tier/timed-out",
    "Cannot start command: no place came free before its deadline, expected one in time",
    { remedy: "Call again later, or ask the operator to let more commands run at once." }
  );
}

// packages/gateway/src/tiers/child/starter.ts
import { spawn } from "node:child_process";
import { closeSync as closeSync2, constants as constants2, openSync } from "node:fs";
import { Socket as Socket2 } from "node:net";
import { Duplex } from "node:stream";

// packages/gateway/src/tiers/child/child-plan.ts
import { isAbsolute } from "node:path";
function isSound(plan) {
  const { file, args, env, cwd } = plan;
  const names = Object.keys(env);
  return isAbsolute(file) && args.length > 0 && areWords([file, cwd, ...args, ...names, ...Object.values(env)]) && names.every((name) => name !== "" && !name.includes("=")) && areSoundTerms(plan);
}
function isSoundStart(plan) {
  return areWords(plan.words) && areSoundTerms(plan);
}
function areWords(words) {
  return words.every((word2) => !word2.includes("\0"));
}
function areSoundTerms({ descriptors, outputBytes, wallMs, graceMs }) {
  const counts = [outputBytes, wallMs, graceMs, ...descriptors.map(numberOf)];
  return counts.every((count) => Number.isSafeInteger(count) && count >= 0);
}
function numberOf(descriptor) {
  switch (descriptor.kind) {
    case "open":
      return descriptor.fd;
    case "read":
      return descriptor.maxBytes;
    case "map":
      return Math.min(descriptor.owner.uid, descriptor.owner.gid, descriptor.uid, descriptor.gid);
    default:
      return 0;
  }
}

// packages/gateway/src/tiers/child/held-end.ts
import { closeSync, writeSync } from "node:fs";
import { Socket } from "node:net";
function heldEnd(fd) {
  let isOurs = true;
  let waiting = null;
  const destroy = () => {
    if (isOurs) closeSync(fd);
    isOurs = false;
    waiting?.destroy();
  };
  return {
    destroy,
    end: (bytes) => {
      if (!isOurs) return;
      const rest = bytes.subarray(writeNow(fd, bytes));
      if (rest.length === 0) {
        destroy();
        return;
      }
      waiting = new Socket({ fd, readable: false, writable: true });
      isOurs = false;
      waiting.on("error", () => void 0);
      waiting.end(rest);
    }
  };
}
function writeNow(fd, bytes) {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EAGAIN" ? 0 : bytes.length;
  }
}

// packages/gateway/src/tiers/child/live-child.ts
function endsOf({ stdin, stdout, stderr, ends }) {
  return [stdin, stdout, stderr, ...ends].filter((end) => end !== null);
}
function errorName(error) {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^E[A-Z0-9]+$/.test(code) ? code : "EINVAL";
}
function killGroup(pid) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
  }
}

// packages/gateway/src/tiers/child/starter-frames.ts
import { constants } from "node:os";
var SIGNAL_NAMES = new Map(
  Object.entries(constants.signals).reverse().map(([name, number]) => [number, name])
);
var STANDARD_OUTPUTS = 2;
var MAX_REQUEST_BYTES = 8388608;
var MAX_DESCRIPTORS = 64;
var MAX_DESCRIPTOR = 1048576;
var MAX_PID = 4194304;
var MAX_SIGNAL = 64;
var MAX_EXIT = 255;
function startFrame(id, { stdin, descriptors, words }) {
  const outputs = Array.from({ length: STANDARD_OUTPUTS }, () => "out");
  const kinds = [stdin === null ? "null" : "in", ...outputs, ...descriptors.map(kindWord)];
  const bytes = descriptors.flatMap((each) => each.kind === "bytes" ? [each.bytes] : []);
  return frame(["start", String(id), ...kinds, "--", ...words], bytes);
}
function isTooMuch({ descriptors }, request) {
  return request.length - 4 > MAX_REQUEST_BYTES || descriptors.length > MAX_DESCRIPTORS || descriptors.some((each) => each.kind === "open" && each.fd > MAX_DESCRIPTOR);
}
function tookFrame(id) {
  return frame(["took", String(id)], []);
}
function killFrame(id) {
  return frame(["kill", String(id)], []);
}
function wordsBytes(words) {
  return Buffer.concat([uint32(words.length), textOf(words)]);
}
function sidesOf({ stdin, descriptors }) {
  return [stdin === null ? null : "writes", "reads", "reads", ...descriptors.map(sideOf)];
}
var REPLY = /^(?<kind>started|failed|ended) (?<id>\d+) (?<rest>.+)$/;
var FAILURE = /^[!-~]+ (?<error>[A-Z][A-Z0-9]*)$/;
var END = /^(?<how>exit|signal)=(?<number>\d+)$/;
function parseReply(line) {
  const { kind, id: name = "", rest = "" } = REPLY.exec(line)?.groups ?? {};
  const id = wholeNumber(name, Number.MAX_SAFE_INTEGER);
  if (id === null || id === 0) return null;
  if (kind === "failed") {
    const error = FAILURE.exec(rest)?.groups?.error;
    return error === void 0 ? null : { kind, id, error };
  }
  if (kind === "started") {
    const [first = "", ...words] = rest.split(" ");
    const pid = wholeNumber(first, MAX_PID);
    const numbers = words.map((word2) => wholeNumber(word2, MAX_DESCRIPTOR)).filter((each) => each !== null);
    if (pid === null || pid < 2) return null;
    return numbers.length === words.length ? { kind, id, pid, numbers } : null;
  }
  const exit = exitOf(rest);
  return exit === null ? null : { kind: "ended", id, exit };
}
function exitOf(rest) {
  const { how, number: word2 = "" } = END.exec(rest)?.groups ?? {};
  const number = wholeNumber(word2, how === "signal" ? MAX_SIGNAL : MAX_EXIT);
  if (number === null) return null;
  if (how === "exit") return { exitCode: number, signal: null, spawnError: null };
  if (number === 0) return null;
  return { exitCode: null, signal: SIGNAL_NAMES.get(number) ?? `SIG${number}`, spawnError: null };
}
function wholeNumber(text, most) {
  const number = /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
  return number <= most ? number : null;
}
function kindWord(descriptor) {
  switch (descriptor.kind) {
    case "open":
      return `${descriptor.writes === true ? "write" : "read"}:${descriptor.fd}`;
    case "bytes":
      return `bytes:${descriptor.bytes.length}`;
    case "map":
      return `map:${descriptor.owner.uid}:${descriptor.owner.gid}:${descriptor.uid}:${descriptor.gid}`;
    case "read":
      return "out";
    case "hold":
    case "later":
      return "in";
  }
}
function sideOf({ kind }) {
  if (kind === "read") return "reads";
  return kind === "hold" || kind === "later" ? "holds" : null;
}
function frame(strings, bytes) {
  const text = textOf(strings);
  const rest = bytes.reduce((sum, each) => sum + each.length, 0);
  return Buffer.concat([uint32(4 + text.length + rest), uint32(text.length), text, ...bytes]);
}
function textOf(strings) {
  return Buffer.from(strings.map((each) => `${each}\0`).join(""));
}
function uint32(number) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(number);
  return bytes;
}

// packages/gateway/src/tiers/child/starter.ts
var REQUESTS = 3;
var STANDARD_STREAMS = 3;
var PATIENCE_MS = 1e4;
var GONE = { exitCode: null, signal: "SIGKILL", spawnError: null };
var Starter = class {
  /** By the launcher's file; there is one, unless it was installed elsewhere meanwhile. */
  #links = /* @__PURE__ */ new Map();
  /** Starts a plan; a failure is the name that the system gives it. What the plan has open is needed until then. */
  start(launcher, plan) {
    if (!isSoundStart(plan)) return Promise.resolve("EINVAL");
    try {
      return this.#linkTo(launcher).start(plan);
    } catch (error) {
      return Promise.resolve(errorName(error));
    }
  }
  /** Ends the starter and whatever it still runs. */
  close() {
    for (const link of this.#links.values()) link.close();
    this.#links.clear();
  }
  #linkTo(launcher) {
    const known = this.#links.get(launcher);
    if (known !== void 0 && !known.isGone) return known;
    const link = new Link(launcher);
    this.#links.set(launcher, link);
    return link;
  }
};
var Link = class {
  /** Whether it starts nothing any more. */
  isGone = false;
  #process;
  #socket;
  #runs = /* @__PURE__ */ new Map();
  #lastId = 0;
  #rest = "";
  constructor(launcher) {
    const words = ["mode=serve", `requests=${REQUESTS}`];
    this.#process = spawn(launcher, words, {
      argv0: "palisade-launcher",
      cwd: "/",
      env: Object.assign(/* @__PURE__ */ Object.create(null), { NODE_V8_COVERAGE: void 0 }),
      // Out of reach of signals to the terminal's group: it ends when its runs have ended, and not before.
      detached: true,
      stdio: ["ignore", "ignore", "ignore", "pipe"]
    });
    this.#process.once("error", (error) => this.#onGone(errorName(error)));
    const socket = this.#process.stdio?.[REQUESTS];
    if (!(socket instanceof Duplex)) throw Object.assign(new Error("no descriptors"), { code: "EMFILE" });
    this.#socket = socket;
    socket.on("data", (chunk) => this.#read(chunk));
    socket.on("error", () => void 0);
    socket.once("close", () => this.#onGone("ESRCH"));
    this.#holdOpen(false);
  }
  start(plan) {
    this.#lastId += 1;
    const id = this.#lastId;
    const request = startFrame(id, plan);
    if (isTooMuch(plan, request)) return Promise.resolve("E2BIG");
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.close(), PATIENCE_MS);
      const answer2 = (child) => {
        clearTimeout(timer);
        resolve(child);
      };
      let end = () => void 0;
      const exited = new Promise((settle) => {
        end = settle;
      });
      this.#runs.set(id, { plan, answer: answer2, exited, end, pid: null });
      this.#holdOpen(true);
      this.#socket.write(request);
    });
  }
  close() {
    this.#process.kill("SIGTERM");
    this.#socket.destroy();
  }
  #read(chunk) {
    const lines2 = (this.#rest + chunk.toString("latin1")).split("\n");
    this.#rest = lines2.pop() ?? "";
    for (const line of lines2) {
      const reply = parseReply(line);
      if (reply === null) this.close();
      else this.#onReply(reply);
    }
  }
  #onReply(reply) {
    const run2 = this.#runs.get(reply.id);
    if (run2 === void 0) return;
    if (reply.kind === "started") {
      run2.pid = reply.pid;
      run2.answer(this.#take(reply.id, run2, reply.numbers));
      return;
    }
    if (reply.kind === "failed") run2.answer(reply.error);
    else run2.end(reply.exit);
    this.#runs.delete(reply.id);
    if (this.#runs.size === 0) this.#holdOpen(false);
  }
  /** Opens our ends where the starter has them, and makes a child of them. */
  #take(id, { plan, exited }, numbers) {
    const left = [...numbers];
    const opened = [];
    try {
      for (const side of sidesOf(plan)) opened.push(side === null ? null : this.#open(left.shift(), side));
    } catch (error) {
      for (const end of opened) end?.destroy();
      this.#socket.write(killFrame(id));
      return errorName(error);
    } finally {
      this.#socket.write(tookFrame(id));
    }
    const [stdin, stdout, stderr] = opened.map((end) => end instanceof Duplex ? end : null);
    const kill = () => {
      if (this.#runs.has(id)) this.#socket.write(killFrame(id));
    };
    return {
      ...{ stdin: stdin ?? null, stdout: stdout ?? null, stderr: stderr ?? null },
      ...{ ends: opened.slice(STANDARD_STREAMS), exited, kill }
    };
  }
  #open(number, side) {
    const path = `/proc/${this.#process.pid}/fd/${number}`;
    const access = side === "reads" ? constants2.O_RDONLY : constants2.O_WRONLY;
    let fd;
    try {
      fd = openSync(path, access | constants2.O_NONBLOCK | constants2.O_NOCTTY);
    } catch (error) {
      if (side !== "reads" && errorName(error) === "ENXIO") return null;
      if (errorName(error) !== "ENOENT") throw error;
      this.isGone = true;
      throw Object.assign(new Error("no starter"), { code: "ESRCH" });
    }
    if (side === "holds") return heldEnd(fd);
    try {
      return new Socket2({ fd, readable: side === "reads", writable: side === "writes" });
    } catch (error) {
      closeSync2(fd);
      throw error;
    }
  }
  #onGone(error) {
    this.isGone = true;
    for (const { pid, answer: answer2, end } of this.#runs.values()) {
      if (pid !== null) killGroup(pid);
      answer2(error);
      end(GONE);
    }
    this.#runs.clear();
  }
  /** Between runs it must not keep the gateway from ending. */
  #holdOpen(isHeld) {
    const socket = this.#socket instanceof Socket2 ? this.#socket : null;
    if (isHeld) {
      this.#process.ref();
      socket?.ref();
    } else {
      this.#process.unref();
      socket?.unref();
    }
  }
};

// packages/gateway/src/tiers/child/running-child.ts
import { Duplex as Duplex2 } from "node:stream";

// packages/gateway/src/tiers/child/capture.ts
var FIRST_BLOCK_BYTES = 4096;
var MAX_BLOCK_BYTES = 1048576;
var LARGE_BYTES = 16384;
var ByteStore = class {
  #blocks = [];
  /** What is filled of the last block, where that is one of ours. */
  #filled = 0;
  /** What is not yet filled of it. */
  #room = new Uint8Array(0);
  #length = 0;
  get length() {
    return this.#length;
  }
  append(chunk) {
    this.#length += chunk.length;
    if (chunk.length >= LARGE_BYTES && chunk.length * 2 >= chunk.buffer.byteLength) this.#keep(chunk);
    else this.#copy(chunk);
  }
  /** The last bytes, at most so many. */
  tail(count) {
    return this.bytes().subarray(Math.max(0, this.#length - count));
  }
  /** Everything so far, as a copy of its own. */
  bytes() {
    const all = new Uint8Array(this.#length);
    let at = 0;
    for (const block of this.#blocks) {
      all.set(block.subarray(0, this.#length - at), at);
      at += block.length;
    }
    return all;
  }
  #keep(chunk) {
    this.#endBlock();
    this.#blocks.push(chunk);
  }
  #copy(chunk) {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#room.length === 0) this.#addBlock();
      const part = rest.subarray(0, this.#room.length);
      this.#room.set(part);
      this.#room = this.#room.subarray(part.length);
      this.#filled += part.length;
      rest = rest.subarray(part.length);
    }
  }
  #addBlock() {
    const size = Math.min(Math.max(this.#length, FIRST_BLOCK_BYTES), MAX_BLOCK_BYTES);
    this.#room = new Uint8Array(size);
    this.#filled = 0;
    this.#blocks.push(this.#room);
  }
  /** Lets go of what is not filled, so that the next piece follows. */
  #endBlock() {
    const last = this.#blocks.at(-1);
    if (this.#room.length === 0 || last === void 0) return;
    this.#blocks[this.#blocks.length - 1] = last.subarray(0, this.#filled);
    this.#room = new Uint8Array(0);
  }
};
var Capture = class {
  #maxBytes;
  #stores = { stdout: new ByteStore(), stderr: new ByteStore() };
  #isPassed = false;
  constructor(maxBytes) {
    this.#maxBytes = maxBytes;
  }
  get length() {
    return this.#stores.stdout.length + this.#stores.stderr.length;
  }
  /** Whether more came than the quota has room for. */
  get isPassed() {
    return this.#isPassed;
  }
  /** Keeps what the quota has room for, and gives that part. */
  take(stream, chunk) {
    const kept = chunk.subarray(0, this.#maxBytes - this.length);
    this.#isPassed ||= kept.length < chunk.length;
    this.#stores[stream].append(kept);
    return kept;
  }
  bytes(stream) {
    return this.#stores[stream].bytes();
  }
};

// packages/gateway/src/tiers/child/running-child.ts
var MAX_TIMER_MS2 = 2147483647;
var RunningChild = class {
  ended;
  #child;
  #plan;
  #watch;
  #startedMs;
  #output;
  #read = [];
  #holds = [];
  /** The streams that have not come to their end. */
  #reading = /* @__PURE__ */ new Set();
  #cancel = () => this.cancel();
  /** There is one at a time: first for the wall clock, then for the kill, then for pipes that do not end. */
  #timer;
  #stopped = null;
  #exit = null;
  /** How much it wrote in all, once it has said so. */
  #outputOfAll = null;
  #broken = null;
  #settle = null;
  constructor({ child, plan, watch, startedMs }) {
    this.#child = child;
    this.#plan = plan;
    this.#watch = watch;
    this.#startedMs = startedMs;
    this.#output = new Capture(plan.outputBytes);
    this.ended = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#listen();
    this.#feed();
  }
  /** Ends it as the signal of the watch would. */
  cancel() {
    this.#stop("cancelled");
  }
  #listen() {
    const { signal } = this.#watch;
    void this.#child.exited.then((exit) => this.#onExit(exit));
    for (const end of endsOf(this.#child)) if (end instanceof Duplex2) end.on("error", ignore);
    for (const name of ["stdout", "stderr"]) {
      this.#readAll(this.#child[name], (chunk) => this.#take(name, chunk));
    }
    signal.addEventListener("abort", this.#cancel, { once: true });
    this.#after(this.#plan.wallMs, () => this.#stop("timed-out"));
  }
  /** Writes what the child is given and collects what it tells. A child that does not read holds nobody. */
  #feed() {
    if (this.#plan.stdin !== null) this.#child.stdin?.end(this.#plan.stdin);
    for (const [index, descriptor] of this.#plan.descriptors.entries()) {
      const end = this.#child.ends[index] ?? null;
      if (descriptor.kind === "hold" && end !== null) this.#holds.push(end);
      if (descriptor.kind === "read") this.#collect(end instanceof Duplex2 ? end : null, descriptor.maxBytes);
    }
  }
  #collect(socket, maxBytes) {
    const store = new ByteStore();
    const index = this.#read.push(store) - 1;
    this.#readAll(socket, (chunk) => {
      store.append(chunk.subarray(0, maxBytes - store.length));
      this.#watch.onRead?.(index);
      this.#outputOfAll ??= this.#watch.lastWord?.(index, store) ?? null;
      this.#finishWhenSaid();
    });
  }
  #readAll(socket, take) {
    if (socket === null) return;
    this.#reading.add(socket);
    socket.on("data", take);
    socket.once("close", () => {
      this.#reading.delete(socket);
      this.#finishWhenRead();
    });
  }
  #take(stream, chunk) {
    const kept = this.#output.take(stream, chunk);
    if (kept.length > 0) this.#tell(stream, kept);
    if (!this.#output.isPassed) {
      this.#finishWhenSaid();
      return;
    }
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    this.#stop("output");
  }
  #tell(stream, chunk) {
    if (this.#broken !== null) return;
    try {
      this.#watch.onOutput?.(stream, chunk);
    } catch (error) {
      this.#broken = { error };
      this.#stop("cancelled");
    }
  }
  /** The first reason stays. A launcher that sees its descriptor closed kills its tree; other children are killed. */
  #stop(reason) {
    if (this.#stopped !== null) return;
    this.#stopped = reason;
    if (this.#exit !== null) return;
    for (const hold of this.#holds) hold.destroy();
    if (this.#holds.length === 0) this.#kill();
    else this.#after(this.#plan.graceMs, () => this.#kill());
  }
  #kill() {
    clearTimeout(this.#timer);
    this.#child.kill();
  }
  #onExit(exit) {
    if (this.#exit !== null) return;
    const wallMs = Math.ceil(this.#watch.clock.monotonicMs() - this.#startedMs);
    this.#exit = { ...exit, wallMs };
    this.#watch.signal.removeEventListener("abort", this.#cancel);
    if (exit.spawnError !== null) this.#reading.clear();
    this.#after(this.#plan.graceMs, () => this.#finish());
    this.#finishWhenRead();
  }
  /** It has said that all is over, and all that it wrote is here: its own way out is not waited for. */
  #finishWhenSaid() {
    if (this.#outputOfAll === null || this.#output.length < this.#outputOfAll) return;
    if (this.#exit === null) this.#onExit({ exitCode: null, signal: null, spawnError: null });
    this.#finish();
  }
  #finishWhenRead() {
    if (this.#exit !== null && this.#reading.size === 0) this.#finish();
  }
  #finish() {
    const settle = this.#settle;
    if (settle === null || this.#exit === null) return;
    this.#settle = null;
    clearTimeout(this.#timer);
    for (const end of endsOf(this.#child)) end.destroy();
    if (this.#broken === null) settle.resolve(this.#endOf(this.#exit));
    else settle.reject(this.#broken.error);
  }
  #endOf(exit) {
    return {
      ...exit,
      stdout: this.#output.bytes("stdout"),
      stderr: this.#output.bytes("stderr"),
      outputBytes: this.#output.length,
      truncated: this.#output.isPassed,
      stopped: this.#stopped,
      read: this.#read.map((store) => store.bytes())
    };
  }
  #after(ms, act) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(act, Math.min(ms, MAX_TIMER_MS2));
  }
};
function ignore() {
}

// packages/gateway/src/tiers/child/spawn-child.ts
import { spawn as spawn2 } from "node:child_process";
import { Duplex as Duplex3 } from "node:stream";
var FIRST_DESCRIPTOR = 3;
function spawnChild(plan) {
  const [argv0 = plan.file, ...args] = plan.args;
  if (plan.descriptors.some(({ kind }) => kind === "map")) return "ENOTSUP";
  try {
    const child = spawn2(plan.file, args, {
      argv0,
      cwd: plan.cwd,
      env: exactly(plan.env),
      // A process group of its own, so that one signal reaches what is left of it.
      detached: true,
      stdio: [plan.stdin === null ? "ignore" : "pipe", "pipe", "pipe", ...plan.descriptors.map(stdioOf)]
    });
    return liveOf(child, plan);
  } catch (error) {
    return errorName(error);
  }
}
function stdioOf(descriptor) {
  return descriptor.kind === "open" ? descriptor.fd : "pipe";
}
function exactly(env) {
  return Object.assign(/* @__PURE__ */ Object.create(null), { NODE_V8_COVERAGE: void 0 }, env);
}
function liveOf(child, { descriptors }) {
  const socket = (number) => duplexOf(child.stdio?.[number]);
  const ends = descriptors.map((_, index) => socket(FIRST_DESCRIPTOR + index));
  for (const [index, descriptor] of descriptors.entries()) {
    const end = ends[index];
    if (descriptor.kind !== "bytes" || !end) continue;
    end.on("error", () => void 0);
    end.end(descriptor.bytes, () => end.destroy());
  }
  return {
    ...{ stdin: socket(0), stdout: socket(1), stderr: socket(2), ends },
    exited: exitOf2(child),
    kill: () => {
      if (child.pid !== void 0) killGroup(child.pid);
      child.kill("SIGKILL");
    }
  };
}
function exitOf2(child) {
  return new Promise((resolve) => {
    child.once("exit", (exitCode, signal) => {
      if (child.pid !== void 0) killGroup(child.pid);
      resolve({ exitCode, signal, spawnError: null });
    });
    child.on("error", (error) => {
      if (child.pid === void 0) resolve({ exitCode: null, signal: null, spawnError: errorName(error) });
    });
  });
}
function duplexOf(stream) {
  return stream instanceof Duplex3 ? stream : null;
}

// packages/gateway/src/tiers/child/start-child.ts
async function runChild(plan, watch) {
  if (watch.signal.aborted) return unstarted(plan, { stopped: "cancelled" });
  if (!isSound(plan)) return unstarted(plan, { spawnError: "EINVAL" });
  const startedMs = watch.clock.monotonicMs();
  const child = spawnChild(plan);
  if (typeof child === "string") return unstarted(plan, { spawnError: child });
  return new RunningChild({ child, plan, watch, startedMs }).ended;
}
function attendChild(child, plan, watch) {
  const running = new RunningChild({ child, plan, watch, startedMs: watch.clock.monotonicMs() });
  if (watch.signal.aborted) running.cancel();
  return running.ended;
}
function unstarted(plan, why) {
  const none = new Uint8Array(0);
  return {
    exitCode: null,
    signal: null,
    stdout: none,
    stderr: none,
    outputBytes: 0,
    truncated: false,
    stopped: null,
    read: plan.descriptors.filter(({ kind }) => kind === "read").map(() => none),
    wallMs: 0,
    spawnError: null,
    ...why
  };
}

// packages/gateway/src/tiers/child/status.ts
var LAST_WORD = /\noutput_bytes=(?<bytes>0|[1-9][0-9]{0,14})\nleft=[0-9]{1,15}\ndone=1\n$/;
var LAST_WORD_BYTES = 128;
function lastWordIn(said) {
  const bytes = LAST_WORD.exec(Buffer.from(said.tail(LAST_WORD_BYTES)).toString("latin1"))?.groups?.bytes;
  return bytes === void 0 ? null : Number(bytes);
}
var MAX_STATUS_BYTES = 262144;
var MAX_LINES = 256;
var COUNT = /^(?:0|[1-9][0-9]{0,14})$/;
var YES = /^1$/;
var GRAMMAR = {
  launcher: YES,
  pid: /^[1-9][0-9]{0,9}$/,
  execerror: /^(?<errno>[1-9][0-9]{0,3}) (?<name>[A-Z][A-Z0-9_]{1,31})$/,
  failed: /^(?<step>[!-~]{1,64}) errno=(?<errno>0|[1-9][0-9]{0,3}) (?<name>[A-Z][A-Z0-9_]{1,31})$/,
  limit: /^(?:cpu|wall|output)$/,
  cancelled: YES,
  exit: /^(?:[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])$/,
  signal: /^(?:[1-9]|[1-5][0-9]|6[0-4])$/,
  utime_us: COUNT,
  stime_us: COUNT,
  maxrss_kb: COUNT,
  inblock: COUNT,
  oublock: COUNT,
  wall_us: COUNT,
  output_bytes: COUNT,
  left: COUNT,
  done: YES
};
var FACT_KEY = /^fact\.[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*$/;
var FACT_VALUE = /^(?:[ -[\]-~]|\\x[0-9a-fA-F]{2})*$/;
function parseStatus(bytes) {
  if (bytes.length > MAX_STATUS_BYTES) {
    return refuse(`it has ${bytes.length} bytes, expected at most ${MAX_STATUS_BYTES}`);
  }
  const lines2 = wholeLines(bytes);
  if (lines2.length > MAX_LINES) return refuse(`it has ${lines2.length} lines, expected at most ${MAX_LINES}`);
  const said = /* @__PURE__ */ new Map();
  for (const [index, line] of lines2.entries()) {
    const wrong = addLine(said, line);
    if (wrong !== null) return refuse(`line ${index + 1} ${wrong}`);
  }
  return { ok: true, value: statusOf(said) };
}
function refuse(what) {
  return { ok: false, message: `Cannot read the status of the launcher: ${what}` };
}
function wholeLines(bytes) {
  const { buffer, byteOffset } = bytes;
  const end = bytes.lastIndexOf(10);
  if (end === -1) return [];
  return Buffer.from(buffer, byteOffset, end).toString("latin1").split("\n");
}
function addLine(said, line) {
  const [, key = "", value = ""] = /^([^=]{1,64})=(.*)$/s.exec(line) ?? [];
  const form = FACT_KEY.test(key) ? FACT_VALUE : Object.hasOwn(GRAMMAR, key) ? GRAMMAR[key] : void 0;
  if (form === void 0) return "has no key that is known";
  if (!form.test(value)) return `has a value of another form than that of "${key}"`;
  if (said.has(key)) return `has the key "${key}" again, expected it once`;
  if (said.size === 0 && key !== "launcher" && key !== "failed") {
    return `has the key "${key}", expected "launcher" first`;
  }
  if (said.has("done")) return `has the key "${key}", expected nothing after "done"`;
  const hasEnd = said.has("exit") || said.has("signal");
  if (hasEnd && (key === "exit" || key === "signal")) return `has the key "${key}", expected one end alone`;
  if (key === "done" && !hasEnd && !said.has("failed"))
    return 'has the key "done", expected an end before it';
  said.set(key, value);
  return null;
}
function statusOf(said) {
  const count = (key) => said.has(key) ? Number(said.get(key)) : null;
  return {
    facts: factsOf(said),
    pid: count("pid"),
    exit: count("exit"),
    signal: count("signal"),
    limit: said.get("limit") ?? null,
    cancelled: said.has("cancelled"),
    execError: groupsOf(said, "execerror", ({ errno = "", name = "" }) => ({ errno: Number(errno), name })),
    failed: groupsOf(said, "failed", ({ step = "", errno = "", name = "" }) => ({
      step,
      errno: Number(errno),
      name
    })),
    usage: usageOf(count),
    outputBytes: count("output_bytes"),
    left: count("left"),
    done: said.has("done")
  };
}
function factsOf(said) {
  const facts = /* @__PURE__ */ Object.create(null);
  for (const [key, value] of said) {
    if (key.startsWith("fact.")) facts[key.slice("fact.".length)] = value;
  }
  return facts;
}
function groupsOf(said, key, make) {
  const groups = GRAMMAR[key]?.exec(said.get(key) ?? "")?.groups;
  return groups === void 0 ? null : make(groups);
}
function usageOf(count) {
  const userUs = count("utime_us");
  const systemUs = count("stime_us");
  const maxRssKb = count("maxrss_kb");
  const readBlocks = count("inblock");
  const writeBlocks = count("oublock");
  const wallUs = count("wall_us");
  if (userUs === null || systemUs === null || maxRssKb === null) return null;
  if (readBlocks === null || writeBlocks === null || wallUs === null) return null;
  return { userUs, systemUs, maxRssKb, readBlocks, writeBlocks, wallUs };
}

// packages/gateway/src/tiers/process/descriptors.ts
import { closeSync as closeSync3, constants as constants3, openSync as openSync2 } from "node:fs";
function openDescriptors(roles, sources) {
  const opened = [];
  const open = (path, flags) => {
    const fd = openSync2(path, flags);
    opened.push(fd);
    return { kind: "open", fd };
  };
  const close = () => {
    for (const fd of opened.splice(0)) closeSync3(fd);
  };
  try {
    const descriptors = roles.map((role) => descriptorOf(role, sources, open));
    const wordsIndex = roles.findIndex(({ role }) => role === "words");
    return { descriptors, wordsIndex, close };
  } catch (error) {
    close();
    throw error;
  }
}
function descriptorOf(role, sources, open) {
  switch (role.role) {
    case "args":
      return { kind: "bytes", bytes: Buffer.from(sources.args.map((word2) => `${word2}\0`).join("")) };
    case "seccomp":
      return { kind: "bytes", bytes: role.bytes };
    case "bytes":
      return { kind: "bytes", bytes: Buffer.from(role.text) };
    case "status":
      return { kind: "read", maxBytes: MAX_STATUS_BYTES };
    case "control":
      return { kind: "hold" };
    case "words":
      return { kind: "later" };
    case "workspace":
      return { kind: "open", fd: sources.workspaceFd };
    case "launcher":
      return open(sources.launcher, constants3.O_RDONLY | constants3.O_NOFOLLOW);
    case "cgroup":
      return { kind: "open", fd: groupFd(sources, role.index), writes: true };
    case "map": {
      const { uid, gid, owner } = role.asRoot;
      return { kind: "map", owner, uid, gid };
    }
    case "pinned":
    case "protected":
      return open(insideOf(sources.workspaceFd, role.path), constants3.O_RDONLY | constants3.O_NOFOLLOW);
  }
}
function insideOf(workspaceFd, path) {
  const parts = path.split("/");
  if (parts.length === 1) return `/proc/self/fd/${workspaceFd}/${path}`;
  throw new CodedError(
    "tier/unenforceable",
    `Cannot protect "${path}": it is nested, expected a name at the top of the workspace`
  );
}
function groupFd({ cgroupFds }, index) {
  const fd = cgroupFds[index];
  if (fd === void 0) throw new TypeError(`Cannot join group ${index}: there are ${cgroupFds.length}`);
  return fd;
}

// packages/gateway/src/tiers/process/box.ts
function demandPlan(tier, { terms, held }, { runAs: runAs2, cgroups }) {
  const asRoot = runAs2 === null ? null : { ...runAs2, owner: held.owner };
  const plan = tier.plan(terms, { cgroups, asRoot });
  if (plan.ok) return plan;
  throw new CodedError(plan.code, plan.message, { remedy: plan.remedy });
}
function identityOf({ words, args, descriptors }, terms) {
  const { memoryBytes, processes } = terms.limits;
  const roles = descriptors.map(
    (role) => role.role === "seccomp" ? Buffer.from(role.bytes).toString("base64") : role
  );
  return JSON.stringify([words, args, roles, memoryBytes, processes]);
}
async function openBox(kit, tier, wish) {
  const group = kit.makeGroup(wish.id, wish.terms);
  const removeGroup = async () => group?.remove().catch(() => void 0);
  try {
    const cgroupFds = group?.descriptors ?? [];
    const plan = demandPlan(tier, wish, { runAs: kit.runAs, cgroups: cgroupFds.length });
    const sources = { args: plan.args, workspaceFd: wish.held.fd, launcher: kit.launcher, cgroupFds };
    const open = openDescriptors(plan.descriptors, sources);
    const { descriptors, wordsIndex } = open;
    const { stdin } = wish.terms;
    const started = await kit.start(kit.launcher, { words: plan.words, ...childTerms(wish.terms, descriptors, stdin) }).finally(open.close);
    const child = typeof started === "string" ? { error: started } : started;
    const close = async () => {
      giveUp(child);
      await removeGroup();
    };
    const identity = identityOf(plan, wish.terms);
    const box = {
      child,
      group,
      cgroups: cgroupFds.length,
      identity,
      descriptors,
      wordsIndex,
      close
    };
    return { box, plan };
  } catch (error) {
    await removeGroup();
    throw error;
  }
}
function runInBox({ child, descriptors, wordsIndex }, { plan, terms }, watch) {
  const attended = childTerms(terms, descriptors, terms.stdin);
  if ("error" in child) return Promise.resolve(unstarted(attended, { spawnError: child.error }));
  const lastWord = (_, said) => lastWordIn(said);
  const ended = attendChild(child, attended, { ...watch, lastWord });
  child.ends[wordsIndex]?.end(wordsBytes(plan.told));
  return ended;
}
var BEHIND_MS = 2e3;
var GRACE_MS = 500;
function childTerms({ limits }, descriptors, stdin) {
  return {
    descriptors,
    stdin: stdin === null ? null : Buffer.from(stdin),
    outputBytes: limits.outputBytes,
    wallMs: limits.wallMs + BEHIND_MS,
    graceMs: GRACE_MS
  };
}
function giveUp(child) {
  if ("error" in child) return;
  for (const end of endsOf(child)) end.destroy();
  child.kill();
}

// packages/gateway/src/tiers/process/closings.ts
var Closings = class {
  #most;
  #closing = /* @__PURE__ */ new Set();
  constructor(most) {
    this.#most = most;
  }
  /** Resolves at once, or where there are too many when enough of them are done. */
  async add(closing) {
    const done = closing.catch(() => void 0).finally(() => this.#closing.delete(done));
    this.#closing.add(done);
    while (this.#closing.size > this.#most) await Promise.race(this.#closing);
  }
  /** Resolves when nothing is left. */
  async finish() {
    while (this.#closing.size > 0) await Promise.all(this.#closing);
  }
};

// packages/gateway/src/tiers/process/held-workspace.ts
import { closeSync as closeSync4, constants as constants4, fstatSync, lstatSync, openSync as openSync3, readlinkSync } from "node:fs";
function holdWorkspace(path) {
  let fd;
  try {
    fd = openSync3(path, constants4.O_RDONLY | constants4.O_DIRECTORY | constants4.O_NOFOLLOW);
  } catch (error) {
    throw gone(path, error instanceof Error && "code" in error ? String(error.code) : "an error");
  }
  try {
    const reached = readlinkSync(`/proc/self/fd/${fd}`);
    if (reached !== path) throw gone(path, "another directory");
    const { uid, gid, dev, ino } = fstatSync(fd, { bigint: true });
    const isInPlace = () => {
      const now = lstatSync(path, { bigint: true, throwIfNoEntry: false });
      return now?.dev === dev && now.ino === ino;
    };
    return {
      fd,
      identity: `${dev}:${ino}`,
      owner: { uid: Number(uid), gid: Number(gid) },
      isInPlace,
      close: () => closeSync4(fd)
    };
  } catch (error) {
    closeSync4(fd);
    throw error;
  }
}
function gone(path, what) {
  const message = `Cannot open the workspace: "${path}" gives ${what}, expected the directory that was judged`;
  return new CodedError("runner/invalid-workspace", message);
}

// packages/gateway/src/tiers/b-process/index.ts
import { arch } from "node:os";

// packages/gateway/src/tiers/process/command-plan.ts
function missingFact(facts, equal) {
  for (const [name, expected] of Object.entries(equal)) {
    const is = facts[name];
    if (is !== expected) return `${name} is ${is ?? "not reported"}, expected ${expected}`;
  }
  return null;
}
function sharedNamespace(facts, names, own) {
  for (const name of names) {
    const is = facts[`ns.${name}`];
    if (is === void 0 || is === own[name])
      return `the ${name} namespace is the gateway's, expected a new one`;
  }
  return null;
}

// packages/gateway/src/tiers/seccomp/program.ts
var MAX_INSTRUCTIONS = 4096;
var MAX_DISTANCE = 255;
var INSTRUCTION_BYTES = 8;
var CODES2 = {
  load: 32,
  keep: 84,
  return: 6,
  equal: 21,
  "at-least": 53,
  "any-bit": 69
};
function assemble(steps) {
  const { instructions, places } = layOut(steps);
  if (instructions.length === 0 || instructions.length > MAX_INSTRUCTIONS) {
    const what = `it has ${instructions.length} instructions`;
    throw new RangeError(`Cannot assemble program: ${what}, expected 1 to ${MAX_INSTRUCTIONS}`);
  }
  if (instructions.at(-1)?.kind !== "return") {
    throw new RangeError("Cannot assemble program: its end is open, expected a return as the last step");
  }
  const bytes = new Uint8Array(instructions.length * INSTRUCTION_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [index, instruction] of instructions.entries()) {
    const { code, yes, no, value } = encode(instruction, index, places);
    view.setUint16(index * INSTRUCTION_BYTES, code, true);
    view.setUint8(index * INSTRUCTION_BYTES + 2, yes);
    view.setUint8(index * INSTRUCTION_BYTES + 3, no);
    view.setUint32(index * INSTRUCTION_BYTES + 4, value, true);
  }
  return bytes;
}
function layOut(steps) {
  const instructions = [];
  const places = /* @__PURE__ */ new Map();
  for (const step of steps) {
    if (step.kind !== "place") {
      instructions.push(step);
      continue;
    }
    if (places.has(step.name)) {
      throw new RangeError(`Cannot assemble program: "${step.name}" is named twice, expected it once`);
    }
    places.set(step.name, instructions.length);
  }
  return { instructions, places };
}
function encode(instruction, index, places) {
  const plain = { yes: 0, no: 0 };
  switch (instruction.kind) {
    case "load":
      return { ...plain, code: CODES2.load, value: word(instruction.offset) };
    case "keep":
      return { ...plain, code: CODES2.keep, value: word(instruction.bits) };
    case "return":
      return { ...plain, code: CODES2.return, value: word(instruction.value) };
    case "jump":
      return {
        code: CODES2[instruction.test],
        yes: distance(instruction.yes, index, places),
        no: distance(instruction.no, index, places),
        value: word(instruction.value)
      };
  }
}
function distance(name, index, places) {
  if (name === null) return 0;
  const target = places.get(name);
  if (target === void 0) {
    throw new RangeError(`Cannot assemble program: nothing is named "${name}", expected a place`);
  }
  const steps = target - index - 1;
  if (steps < 0 || steps > MAX_DISTANCE) {
    const what = `"${name}" is ${steps} instructions ahead of a jump`;
    throw new RangeError(`Cannot assemble program: ${what}, expected 0 to ${MAX_DISTANCE}`);
  }
  return steps;
}
function word(value) {
  if (value >>> 0 === value) return value;
  throw new RangeError(`Cannot assemble program: ${value} is no operand, expected an unsigned 32-bit number`);
}

// packages/gateway/src/tiers/seccomp/syscalls.table.ts
var LAST_CALL = 469;
var NEW_NAMESPACES = 2114060288;
var SET_ID = 3072;
var DEVICE = 8192;
var MAKES_FILE = 4194368;
var TERMINAL_REQUESTS = [21522, 21532, 21533, 21539];
var PERSONALITIES = [0, 262144, 4294967295];
var RULES = [
  // Programs and code in the kernel.
  { name: "bpf", x64: 321, arm64: 280, answer: "EPERM", why: "Loads programs into the kernel." },
  {
    name: "perf_event_open",
    x64: 298,
    arm64: 241,
    answer: "EPERM",
    why: "Watches other code; a wide surface."
  },
  { name: "userfaultfd", x64: 323, arm64: 282, answer: "ENOSYS", why: "Holds the kernel at a page fault." },
  { name: "io_uring_setup", x64: 425, arm64: 425, answer: "ENOSYS", why: "Does calls that no filter sees." },
  { name: "io_uring_enter", x64: 426, arm64: 426, answer: "ENOSYS", why: "Does calls that no filter sees." },
  {
    name: "io_uring_register",
    x64: 427,
    arm64: 427,
    answer: "ENOSYS",
    why: "Does calls that no filter sees."
  },
  { name: "kexec_load", x64: 246, arm64: 104, answer: "EPERM", why: "Starts another kernel." },
  { name: "kexec_file_load", x64: 320, arm64: 294, answer: "EPERM", why: "Starts another kernel." },
  { name: "create_module", x64: 174, arm64: null, answer: "ENOSYS", why: "Of kernels long gone." },
  { name: "init_module", x64: 175, arm64: 105, answer: "EPERM", why: "Loads code into the kernel." },
  { name: "finit_module", x64: 313, arm64: 273, answer: "EPERM", why: "Loads code into the kernel." },
  { name: "delete_module", x64: 176, arm64: 106, answer: "EPERM", why: "Takes code out of the kernel." },
  { name: "lsm_set_self_attr", x64: 460, arm64: 460, answer: "ENOSYS", why: "Changes a security label." },
  // Other processes.
  {
    name: "ptrace",
    x64: 101,
    arm64: 117,
    answer: "EPERM",
    why: "Takes over another process, or freezes it."
  },
  {
    name: "process_vm_readv",
    x64: 310,
    arm64: 270,
    answer: "EPERM",
    why: "Reads the memory of another process."
  },
  {
    name: "process_vm_writev",
    x64: 311,
    arm64: 271,
    answer: "EPERM",
    why: "Writes the memory of another process."
  },
  {
    name: "process_madvise",
    x64: 440,
    arm64: 440,
    answer: "ENOSYS",
    why: "Pages out the memory of another process."
  },
  {
    name: "pidfd_getfd",
    x64: 438,
    arm64: 438,
    answer: "EPERM",
    why: "Takes a descriptor of another process."
  },
  { name: "kcmp", x64: 312, arm64: 272, answer: "EPERM", why: "Orders addresses of the kernel." },
  {
    name: "prlimit64",
    x64: 302,
    arm64: 261,
    answer: "EPERM",
    why: "Sets the limits of another process of the same user, the gateway too; of oneself it is allowed.",
    denied: { kind: "other-values", argument: 0, values: [0] }
  },
  // Keys and files by other ways than their names.
  { name: "add_key", x64: 248, arm64: 217, answer: "EPERM", why: "Keyrings have no namespace." },
  { name: "request_key", x64: 249, arm64: 218, answer: "EPERM", why: "Keyrings have no namespace." },
  { name: "keyctl", x64: 250, arm64: 219, answer: "EPERM", why: "Keyrings have no namespace." },
  {
    name: "name_to_handle_at",
    x64: 303,
    arm64: 264,
    answer: "EPERM",
    why: "Makes a name for open_by_handle_at."
  },
  {
    name: "open_by_handle_at",
    x64: 304,
    arm64: 265,
    answer: "EPERM",
    why: "Opens files outside of the root."
  },
  { name: "fanotify_init", x64: 300, arm64: 262, answer: "EPERM", why: "Watches whole file systems." },
  { name: "fanotify_mark", x64: 301, arm64: 263, answer: "EPERM", why: "Watches whole file systems." },
  {
    name: "lookup_dcookie",
    x64: 212,
    arm64: 18,
    answer: "ENOSYS",
    why: "Gives paths of a profiler long gone."
  },
  // The machine: its log, quotas, swap, name, clock and ports.
  { name: "syslog", x64: 103, arm64: 116, answer: "EPERM", why: "Reads the log of the kernel." },
  {
    name: "acct",
    x64: 163,
    arm64: 89,
    answer: "EPERM",
    why: "Writes a record of every process into a file."
  },
  { name: "quotactl", x64: 179, arm64: 60, answer: "EPERM", why: "Changes quotas." },
  { name: "quotactl_fd", x64: 443, arm64: 443, answer: "EPERM", why: "Changes quotas." },
  { name: "swapon", x64: 167, arm64: 224, answer: "EPERM", why: "Changes where memory is paged out." },
  { name: "swapoff", x64: 168, arm64: 225, answer: "EPERM", why: "Changes where memory is paged out." },
  { name: "reboot", x64: 169, arm64: 142, answer: "EPERM", why: "Stops the machine." },
  { name: "sethostname", x64: 170, arm64: 161, answer: "EPERM", why: "Names the machine." },
  { name: "setdomainname", x64: 171, arm64: 162, answer: "EPERM", why: "Names the machine." },
  { name: "settimeofday", x64: 164, arm64: 170, answer: "EPERM", why: "Sets the clock." },
  { name: "clock_settime", x64: 227, arm64: 112, answer: "EPERM", why: "Sets the clock." },
  { name: "adjtimex", x64: 159, arm64: 171, answer: "EPERM", why: "Sets the speed of the clock." },
  { name: "clock_adjtime", x64: 305, arm64: 266, answer: "EPERM", why: "Sets the speed of the clock." },
  { name: "iopl", x64: 172, arm64: null, answer: "EPERM", why: "Opens the ports of the hardware." },
  { name: "ioperm", x64: 173, arm64: null, answer: "EPERM", why: "Opens the ports of the hardware." },
  {
    name: "modify_ldt",
    x64: 154,
    arm64: null,
    answer: "ENOSYS",
    why: "Segments of 16 bits; a source of holes."
  },
  { name: "vhangup", x64: 153, arm64: 58, answer: "EPERM", why: "Takes the terminal from others." },
  // Calls of old kernels that nothing needs.
  { name: "nfsservctl", x64: 180, arm64: 42, answer: "ENOSYS", why: "Of kernels long gone." },
  { name: "uselib", x64: 134, arm64: null, answer: "ENOSYS", why: "Of kernels long gone." },
  { name: "ustat", x64: 136, arm64: null, answer: "ENOSYS", why: "Of kernels long gone." },
  { name: "sysfs", x64: 139, arm64: null, answer: "ENOSYS", why: "Of kernels long gone." },
  { name: "_sysctl", x64: 156, arm64: null, answer: "ENOSYS", why: "Of kernels long gone." },
  // Where memory lies between processors. A kernel for one node does not have these.
  { name: "mbind", x64: 237, arm64: 235, answer: "ENOSYS", why: "Moves pages; a source of holes." },
  { name: "set_mempolicy", x64: 238, arm64: 237, answer: "ENOSYS", why: "Places pages; a source of holes." },
  { name: "set_mempolicy_home_node", x64: 450, arm64: 450, answer: "ENOSYS", why: "Places pages." },
  {
    name: "migrate_pages",
    x64: 256,
    arm64: 238,
    answer: "ENOSYS",
    why: "Moves the pages of other processes."
  },
  { name: "move_pages", x64: 279, arm64: 239, answer: "ENOSYS", why: "Moves the pages of other processes." },
  // Mounts.
  { name: "mount", x64: 165, arm64: 40, answer: "EPERM", why: "Changes what paths mean." },
  { name: "umount2", x64: 166, arm64: 39, answer: "EPERM", why: "Uncovers what a mount hides." },
  { name: "pivot_root", x64: 155, arm64: 41, answer: "EPERM", why: "Changes the root." },
  { name: "chroot", x64: 161, arm64: 51, answer: "EPERM", why: "Changes the root." },
  { name: "open_tree", x64: 428, arm64: 428, answer: "ENOSYS", why: "Mounts in the new way." },
  { name: "move_mount", x64: 429, arm64: 429, answer: "ENOSYS", why: "Mounts in the new way." },
  { name: "fsopen", x64: 430, arm64: 430, answer: "ENOSYS", why: "Mounts in the new way." },
  { name: "fsconfig", x64: 431, arm64: 431, answer: "ENOSYS", why: "Mounts in the new way." },
  { name: "fsmount", x64: 432, arm64: 432, answer: "ENOSYS", why: "Mounts in the new way." },
  { name: "fspick", x64: 433, arm64: 433, answer: "ENOSYS", why: "Mounts in the new way." },
  { name: "mount_setattr", x64: 442, arm64: 442, answer: "ENOSYS", why: "Mounts in the new way." },
  { name: "open_tree_attr", x64: 467, arm64: 467, answer: "ENOSYS", why: "Mounts in the new way." },
  { name: "statmount", x64: 457, arm64: 457, answer: "ENOSYS", why: "Shows where a mount comes from." },
  { name: "listmount", x64: 458, arm64: 458, answer: "ENOSYS", why: "Shows mounts of other places." },
  // Namespaces: a new one gives capabilities, and with them the kernel's widest surface.
  { name: "unshare", x64: 272, arm64: 97, answer: "EPERM", why: "Makes namespaces." },
  { name: "setns", x64: 308, arm64: 268, answer: "EPERM", why: "Enters namespaces." },
  {
    name: "clone",
    x64: 56,
    arm64: 220,
    answer: "EPERM",
    why: "Makes namespaces; processes and threads are allowed.",
    denied: { kind: "bits", argument: 0, bits: NEW_NAMESPACES }
  },
  {
    name: "clone3",
    x64: 435,
    arm64: 435,
    answer: "ENOSYS",
    why: "Its flags are in memory, where no filter sees."
  },
  // Terminals, personalities, sockets.
  {
    name: "ioctl",
    x64: 16,
    arm64: 29,
    answer: "EPERM",
    why: "Types into a terminal, pastes into it, takes the console, or loads a line discipline.",
    denied: { kind: "values", argument: 1, values: TERMINAL_REQUESTS }
  },
  {
    name: "personality",
    x64: 135,
    arm64: 92,
    answer: "EPERM",
    why: "Makes data executable, maps page zero, or changes what calls mean.",
    denied: { kind: "other-values", argument: 0, values: PERSONALITIES }
  },
  {
    name: "socket",
    x64: 41,
    arm64: 198,
    answer: "EPERM",
    why: "Families without a network namespace (vsock), and many that load a module on demand.",
    denied: { kind: "socket" }
  },
  {
    name: "socketpair",
    x64: 53,
    arm64: 199,
    answer: "EPERM",
    why: "One end of a pair of datagrams sends to any socket that it can name.",
    denied: { kind: "socket-pair" }
  },
  // Files that give their reader the rights of their owner, and devices.
  {
    name: "chmod",
    x64: 90,
    arm64: null,
    answer: "EPERM",
    why: "Makes a set-id file.",
    denied: { kind: "bits", argument: 1, bits: SET_ID }
  },
  {
    name: "fchmod",
    x64: 91,
    arm64: 52,
    answer: "EPERM",
    why: "Makes a set-id file.",
    denied: { kind: "bits", argument: 1, bits: SET_ID }
  },
  {
    name: "fchmodat",
    x64: 268,
    arm64: 53,
    answer: "EPERM",
    why: "Makes a set-id file.",
    denied: { kind: "bits", argument: 2, bits: SET_ID }
  },
  {
    name: "fchmodat2",
    x64: 452,
    arm64: 452,
    answer: "EPERM",
    why: "Makes a set-id file.",
    denied: { kind: "bits", argument: 2, bits: SET_ID }
  },
  {
    name: "creat",
    x64: 85,
    arm64: null,
    answer: "EPERM",
    why: "Makes a set-id file.",
    denied: { kind: "bits", argument: 1, bits: SET_ID }
  },
  {
    name: "open",
    x64: 2,
    arm64: null,
    answer: "EPERM",
    why: "Makes a set-id file.",
    denied: { kind: "bits", argument: 2, bits: SET_ID, onlyIf: { argument: 1, bits: MAKES_FILE } }
  },
  {
    name: "openat",
    x64: 257,
    arm64: 56,
    answer: "EPERM",
    why: "Makes a set-id file.",
    denied: { kind: "bits", argument: 3, bits: SET_ID, onlyIf: { argument: 2, bits: MAKES_FILE } }
  },
  {
    name: "openat2",
    x64: 437,
    arm64: 437,
    answer: "ENOSYS",
    why: "Its mode is in memory, where no filter sees."
  },
  {
    name: "mknod",
    x64: 133,
    arm64: null,
    answer: "EPERM",
    why: "Makes a set-id file or a device.",
    denied: { kind: "bits", argument: 1, bits: SET_ID | DEVICE }
  },
  {
    name: "mknodat",
    x64: 259,
    arm64: 33,
    answer: "EPERM",
    why: "Makes a set-id file or a device.",
    denied: { kind: "bits", argument: 2, bits: SET_ID | DEVICE }
  }
];
var TCP_AND_UDP = { types: [1, 2], protocols: [0, 6, 17] };
var SOCKETS = [
  { family: "AF_UNIX", number: 1, wish: "unixSockets", limits: null },
  { family: "AF_INET", number: 2, wish: "inet", limits: TCP_AND_UDP },
  { family: "AF_INET6", number: 10, wish: "inet", limits: TCP_AND_UDP }
];
var SOCKET_PAIRS = { family: 1, types: [1, 5], wishForAllTypes: "unixSockets" };

// packages/gateway/src/tiers/seccomp/filter.ts
var AUDIT_ARCH = { x64: 3221225534, arm64: 3221225655 };
var RETURNS = { allow: 2147418112, kill: 2147483648, EPERM: 327681, ENOSYS: 327718 };
var NUMBER_OFFSET = 0;
var ARCH_OFFSET = 4;
var ARGUMENTS_OFFSET = 16;
var SOCKET_TYPE_BITS = 15;
function seccompProgram(arch3, wish) {
  return assemble([
    { kind: "load", offset: ARCH_OFFSET },
    // Boundary: 32-bit calls on a 64-bit kernel have other numbers, so none of them may reach the tree.
    jump("equal", AUDIT_ARCH[arch3], "same architecture", null),
    answer("kill"),
    place("same architecture"),
    { kind: "load", offset: NUMBER_OFFSET },
    ...search(spansOf(arch3), wish)
  ]);
}
function spansOf(arch3) {
  const verdicts = /* @__PURE__ */ new Map();
  for (const rule of RULES) {
    const number = rule[arch3];
    if (number !== null) verdicts.set(number, rule.denied === void 0 ? rule.answer : rule);
  }
  verdicts.set(LAST_CALL + 1, "ENOSYS");
  const spans = [];
  for (let from = 0; from <= LAST_CALL + 1; from += 1) {
    const verdict = verdicts.get(from) ?? "allow";
    if (spans.at(-1)?.verdict !== verdict) spans.push({ from, verdict });
  }
  return spans;
}
function search(spans, wish) {
  const [first] = spans;
  if (first === void 0) return [];
  if (spans.length === 1) return decide(first.verdict, wish);
  const half = spans.length >> 1;
  const upper = spans.slice(half);
  const from = upper[0]?.from ?? 0;
  const name = `calls from ${from}`;
  return [
    jump("at-least", from, name, null),
    ...search(spans.slice(0, half), wish),
    place(name),
    ...search(upper, wish)
  ];
}
function decide(verdict, wish) {
  if (typeof verdict === "string") return [answer(verdict)];
  const { name, denied } = verdict;
  if (denied === void 0) return [answer(verdict.answer)];
  const ends = { allow: `allow ${name}`, deny: `deny ${name}` };
  return [
    ...look(denied, ends, wish),
    place(ends.deny),
    answer(verdict.answer),
    place(ends.allow),
    answer("allow")
  ];
}
function look(denied, ends, wish) {
  switch (denied.kind) {
    case "bits": {
      const { argument, bits, onlyIf } = denied;
      const condition = onlyIf === void 0 ? [] : [load(onlyIf.argument), jump("any-bit", onlyIf.bits, null, ends.allow)];
      return [...condition, load(argument), jump("any-bit", bits, ends.deny, ends.allow)];
    }
    case "values":
      return [load(denied.argument), ...among(denied.values, ends.deny, ends.allow)];
    case "other-values":
      return [load(denied.argument), ...among(denied.values, ends.allow, ends.deny)];
    case "socket":
      return lookAtSocket(ends, wish);
    case "socket-pair":
      return lookAtPair(ends, wish);
  }
}
function lookAtSocket(ends, wish) {
  const allowed = SOCKETS.filter((row) => wish[row.wish]);
  const families = allowed.map(
    ({ family, number, limits }, index) => jump(
      "equal",
      number,
      limits === null ? ends.allow : family,
      index === allowed.length - 1 ? ends.deny : null
    )
  );
  const bodies = allowed.flatMap(({ family, limits }) => {
    if (limits === null) return [];
    const rest = `protocol of ${family}`;
    return [
      place(family),
      ...lookAtType(limits.types, rest, ends.deny),
      place(rest),
      load(2),
      ...among(limits.protocols, ends.allow, ends.deny)
    ];
  });
  return [load(0), ...families, ...bodies];
}
function lookAtPair(ends, wish) {
  const { family, types, wishForAllTypes } = SOCKET_PAIRS;
  if (wish[wishForAllTypes]) return [load(0), ...among([family], ends.allow, ends.deny)];
  return [load(0), jump("equal", family, null, ends.deny), ...lookAtType(types, ends.allow, ends.deny)];
}
function lookAtType(types, yes, no) {
  return [load(1), { kind: "keep", bits: SOCKET_TYPE_BITS }, ...among(types, yes, no)];
}
function among(values, yes, no) {
  return values.map((value, index) => jump("equal", value, yes, index === values.length - 1 ? no : null));
}
function load(argument) {
  return { kind: "load", offset: ARGUMENTS_OFFSET + 8 * argument };
}
function jump(test, value, yes, no) {
  return { kind: "jump", test, value, yes, no };
}
function place(name) {
  return { kind: "place", name };
}
function answer(verdict) {
  return { kind: "return", value: RETURNS[verdict] };
}

// packages/gateway/src/tiers/plan/check-terms.ts
import { posix } from "node:path";

// packages/gateway/src/tiers/plan/unenforceable.ts
function unenforceable(message, remedy) {
  return { ok: false, code: "tier/unenforceable", message, remedy };
}

// packages/gateway/src/tiers/plan/within.ts
function isWithin(path, directory) {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}
function ancestorsOf(path) {
  const parts = path.split("/");
  const start = path.startsWith("/") ? 2 : 1;
  return parts.slice(start).map((_, index) => parts.slice(0, start + index).join("/"));
}

// packages/gateway/src/tiers/plan/check-terms.ts
var REPORT = "Report it: the terms of a run are checked before they come here.";
var INNER_WORKSPACE = "Choose a directory of its own for the work, such as a project in a home directory.";
var NEVER_AROUND = [
  ...["/usr", "/etc", "/proc", "/sys", "/dev", "/boot", "/var/lib"],
  ...["/System", "/Library", "/private/etc", "/private/var"]
];
function checkTerms(terms) {
  return checkWords(terms) ?? checkPaths(terms) ?? checkWorkspace(terms) ?? checkEnvironment(terms.env) ?? checkLimits(terms.limits);
}
function checkIdentity(asRoot) {
  if (asRoot === null) return null;
  const { uid, gid, owner } = asRoot;
  const areIds = [uid, gid, owner.uid, owner.gid].every((id) => Number.isSafeInteger(id) && id >= 0);
  if (areIds && uid > 0 && gid > 0) return null;
  return unenforceable(
    `Cannot plan the run: it would run as ${uid}:${gid}, expected a user and a group other than 0`,
    "Give the gateway an ordinary user for the runs, or start it as one."
  );
}
function checkFilter(seccomp) {
  const instructionBytes = 8;
  if (seccomp.length > 0 && seccomp.length % instructionBytes === 0) return null;
  return unenforceable(
    `Cannot plan the run: the system call filter has ${seccomp.length} bytes, expected whole instructions of 8`,
    "Use a machine with an x64 or arm64 processor."
  );
}
function checkWords(terms) {
  const { executable, argv, workspace: workspace2, cwd, env, readOnly, protectedPaths } = terms;
  const words = [executable, workspace2, cwd, ...argv, ...readOnly, ...protectedPaths];
  const torn = [...words, ...Object.entries(env).flat()].find((word2) => word2.includes("\0"));
  if (torn !== void 0) {
    return unenforceable(
      `Cannot plan the run: ${JSON.stringify(torn)} holds a NUL, expected words without`,
      REPORT
    );
  }
  if (argv.length > 0) return null;
  return unenforceable("Cannot plan the run: its argv is empty, expected the name of the command", REPORT);
}
function checkPaths(terms) {
  const { executable, workspace: workspace2, cwd, readOnly, protectedPaths } = terms;
  const absolute = [executable, workspace2, cwd, ...readOnly];
  const odd = absolute.find((path) => !path.startsWith("/") || !isNormal(path) || path.startsWith("//"));
  if (odd !== void 0) {
    return unenforceable(
      `Cannot plan the run: the path "${odd}" is not canonical, expected one from the root without . and ..`,
      REPORT
    );
  }
  const outside = protectedPaths.find((path) => !isNormal(path) || /^(\/|\.$|\.\.(\/|$))/.test(path));
  if (outside === void 0) return null;
  return unenforceable(
    `Cannot protect "${outside}": it is not a path inside the workspace, expected one relative to it without . and ..`,
    "Correct the protected path."
  );
}
function checkWorkspace(terms) {
  const { workspace: workspace2, cwd } = terms;
  const around = NEVER_AROUND.find((place2) => isWithin(place2, workspace2));
  if (around !== void 0) {
    return unenforceable(
      `Cannot use the workspace "${workspace2}": it holds "${around}", expected a directory that holds no part of the system`,
      INNER_WORKSPACE
    );
  }
  if (isWithin(cwd, workspace2)) return null;
  return unenforceable(`Cannot start in "${cwd}": it is outside, expected a path in "${workspace2}"`, REPORT);
}
function checkEnvironment(env) {
  const odd = Object.keys(env).find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (odd === void 0) return null;
  return unenforceable(
    `Cannot set the variable ${JSON.stringify(odd)}: it is no name, expected letters, digits and _`,
    "Correct the name of the variable."
  );
}
function checkLimits(limits) {
  const odd = Object.entries(limits).find(([, value2]) => !Number.isSafeInteger(value2) || value2 <= 0);
  if (odd === void 0) return null;
  const [name, value] = odd;
  return unenforceable(
    `Cannot hold the limit ${name}: it is ${value}, expected a whole number above 0`,
    REPORT
  );
}
function isNormal(path) {
  return path !== "" && posix.normalize(path) === path && (path === "/" || !path.endsWith("/"));
}

// packages/gateway/src/tiers/plan/launcher-words.ts
var STACK_BYTES = 8 * 1024 * 1024;
var CPU_SLACK_S = 1;
var PROCESSES_BEHIND = 16;
var DATA_BEHIND = 4;
function limitWords(limits, standing) {
  return [
    ...Object.entries(rlimits(limits, standing)).map(([name, value]) => `${name}=${value}`),
    `stack=${STACK_BYTES}`,
    `cpums=${limits.cpuMs}`,
    `wallms=${limits.wallMs}`,
    `output=${limits.outputBytes}`
  ];
}
function limitFacts(limits, standing) {
  const { nofile: _, ...exact } = rlimits(limits, standing);
  const facts = Object.entries(exact).map(([name, value]) => [`rlimit.${name}`, String(value)]);
  return { ...Object.fromEntries(facts), "rlimit.core": "0" };
}
function environmentWords(env) {
  const names = Object.keys(env).sort();
  return names.map((name) => `set=${name}=${env[name] ?? ""}`);
}
function identityWords({ uid, gid }, { workspaceFd, mapFd }) {
  return [`uid=${uid}`, `gid=${gid}`, `workspace=${workspaceFd}`, `map=${mapFd}`];
}
function rlimits(limits, { others, hasGroup }) {
  return {
    cpu: Math.ceil(limits.cpuMs / 1e3) + CPU_SLACK_S,
    data: limits.memoryBytes * (hasGroup ? DATA_BEHIND : 1),
    fsize: limits.fileBytes,
    nofile: limits.openFiles,
    nproc: limits.processes + others + (hasGroup ? PROCESSES_BEHIND : 0)
  };
}

// packages/gateway/src/tiers/b-process/plan.ts
var FIRST_DESCRIPTOR2 = 3;
var REAPERS = 1;
var FILTERS_B = {
  local: { unixSockets: false, inet: false },
  inet: { unixSockets: false, inet: true }
};
function filterOfB(terms) {
  return terms.egress === "strict" ? "local" : "inet";
}
function planB(terms, host) {
  const refusal = checkTerms(terms) ?? checkIdentity(host.asRoot) ?? checkFilter(host.seccomp) ?? checkProtection(terms) ?? checkWalls(terms, host);
  if (refusal !== null) return refusal;
  const descriptors = listDescriptors(host);
  const standing = standingOf(host);
  const told = [
    "mode=run",
    ...limitWords(terms.limits, standing),
    ...descriptorWords(descriptors),
    ...placeWords(terms, host, descriptors),
    ...confinementWords(terms, host),
    ...environmentWords(terms.env),
    "facts=1",
    "--",
    terms.executable,
    ...terms.argv
  ];
  const words = [`words=${FIRST_DESCRIPTOR2 + descriptors.findIndex(({ role }) => role === "words")}`];
  return { ok: true, words, told, descriptors, expected: expectation(terms, host, standing) };
}
function checkProtection(terms) {
  const [first] = terms.protectedPaths;
  if (first === void 0) return null;
  return unenforceable(
    `Cannot protect "${first}": tier B lets a run write to all of its workspace, expected no protected paths`,
    "Run the command in tier C, or leave the protection to the list of changes after the run."
  );
}
function checkWalls(terms, host) {
  if (host.asRoot !== null && !host.isReachable) {
    return unenforceable(
      `Cannot enter "${terms.workspace}": the user of commands cannot walk to it, expected directories that others may enter`,
      "Run the command in tier C, or put the workspace below directories of mode 0711 or wider."
    );
  }
  if (host.asRoot !== null || host.hasNamespaces || usesLandlock(terms, host)) return null;
  return unenforceable(
    "Cannot run in tier B: there are no user namespaces here and Landlock would take the network, expected one of them to keep the command from the gateway",
    'Ask for egress "strict", allow user namespaces, or run the gateway as root.'
  );
}
function listDescriptors(host) {
  const cgroups = Array.from(
    { length: host.cgroupDescriptors },
    (_, index) => ({ role: "cgroup", index })
  );
  const { asRoot } = host;
  const workspace2 = asRoot === null ? [] : [{ role: "workspace" }, { role: "map", asRoot }];
  const seccomp = { role: "seccomp", bytes: host.seccomp };
  return [{ role: "status" }, { role: "control" }, { role: "words" }, seccomp, ...workspace2, ...cgroups];
}
function descriptorWords(descriptors) {
  return descriptors.flatMap(
    ({ role }, index) => ["workspace", "map", "words"].includes(role) ? [] : [`${role}=${FIRST_DESCRIPTOR2 + index}`]
  );
}
function placeWords(terms, { asRoot }, descriptors) {
  if (asRoot === null) return [`cwd=${terms.cwd}`];
  const numberOf2 = (wanted) => FIRST_DESCRIPTOR2 + descriptors.findIndex(({ role }) => role === wanted);
  const numbers = { workspaceFd: numberOf2("workspace"), mapFd: numberOf2("map") };
  const below = terms.cwd === terms.workspace ? [] : [`cwd=.${terms.cwd.slice(terms.workspace.length)}`];
  return [...identityWords(asRoot, numbers), "chdir=1", ...below];
}
function confinementWords(terms, host) {
  if (host.hasNamespaces) return ["ns=1"];
  return usesLandlock(terms, host) ? ["ro=/", "rw=/dev", "rw=/tmp", `rw=${terms.workspace}`] : [];
}
function usesLandlock(terms, host) {
  return !host.hasNamespaces && host.hasLandlock && terms.egress === "strict";
}
function standingOf(host) {
  const others = host.hasNamespaces ? REAPERS : host.ownThreads;
  return { others, hasGroup: host.cgroupDescriptors > 0 };
}
function expectation(terms, host, standing) {
  const { asRoot } = host;
  const ids = asRoot === null ? {} : { uid: String(asRoot.uid), gid: String(asRoot.gid), groups: "" };
  return {
    equal: { ...ids, nnp: "1", seccomp: "2", ...limitFacts(terms.limits, standing) },
    newNamespaces: host.hasNamespaces ? ["user", "pid", "mnt", "ipc"] : [],
    landlock: usesLandlock(terms, host)
  };
}

// packages/gateway/src/tiers/b-process/index.ts
function processTier(found) {
  const { launcherSha256, hasNamespaces, hasLandlock } = found;
  const machine = arch() === "arm64" ? "arm64" : "x64";
  const filters = {
    inet: seccompProgram(machine, FILTERS_B.inet),
    local: seccompProgram(machine, FILTERS_B.local)
  };
  return {
    name: "b",
    executor: `palisade-launcher@${launcherSha256}`,
    about: { boundary: hasNamespaces ? "process in a pid namespace" : "process", launcherSha256 },
    plan: (terms, { cgroups, asRoot }) => {
      const plan = planB(terms, {
        ...{ hasNamespaces, hasLandlock, cgroupDescriptors: cgroups, asRoot },
        seccomp: filters[filterOfB(terms)],
        ownThreads: hasNamespaces ? 0 : found.ownThreads(),
        isReachable: asRoot === null || found.isReachable(terms.workspace)
      });
      if (!plan.ok) return plan;
      const { words, told, descriptors, expected } = plan;
      const missing = (facts) => missingFact(facts, expected.equal) ?? sharedNamespace(facts, expected.newNamespaces, found.ownNamespaces) ?? (expected.landlock && facts.landlock === "0" ? "Landlock is off, expected it on" : null);
      return { ok: true, words, args: [], told, descriptors, missing };
    }
  };
}

// packages/gateway/src/tiers/c-bubblewrap/index.ts
import { arch as arch2 } from "node:os";

// packages/gateway/src/tiers/c-bubblewrap/mounts.ts
import { posix as posix2 } from "node:path";

// packages/gateway/src/tiers/c-bubblewrap/root.table.ts
var JAIL_HOME = "/home/palisade";
var JAIL_TMP = "/tmp";
var JAIL_SHM = "/dev/shm";
var JAIL_LAUNCHER = "/.palisade/launcher";
var JAIL_WORKSPACE = "/workspace";
var JAIL_ID = 1e3;
var JAIL_HOST = "sandbox";
var JAIL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
var SYSTEM_ROOTS = [
  { path: "/usr", sentence: "Programs and libraries." },
  { path: "/bin", sentence: "A link into /usr on most systems." },
  { path: "/sbin", sentence: "A link into /usr on most systems." },
  { path: "/lib", sentence: "A link into /usr on most systems." },
  { path: "/lib32", sentence: "Libraries of 32-bit programs." },
  { path: "/lib64", sentence: "Holds the dynamic loader that x64 programs name." },
  { path: "/libx32", sentence: "Libraries of x32 programs." }
];
var ETC_BINDS = [
  { path: "/etc/ld.so.cache", network: false, sentence: "Where the dynamic loader finds libraries." },
  { path: "/etc/alternatives", network: false, sentence: "The links behind awk, cc, editor and their like." },
  { path: "/etc/localtime", network: false, sentence: "The time zone." },
  { path: "/etc/ssl/certs", network: false, sentence: "Certificates of authorities." },
  { path: "/etc/ssl/openssl.cnf", network: false, sentence: "What OpenSSL reads when it starts." },
  { path: "/etc/pki/tls/certs", network: false, sentence: "Certificates of authorities on Fedora." },
  {
    path: "/etc/pki/ca-trust/extracted",
    network: false,
    sentence: "What the certificates on Fedora link to."
  },
  {
    path: "/etc/ca-certificates/extracted",
    network: false,
    sentence: "What the certificates on Arch link to."
  },
  { path: "/etc/resolv.conf", network: true, sentence: "Name servers; only where the network is shared." }
];
var JAIL_PLACES = [
  { path: "/etc", writable: false, sentence: "Made up, with the binds above." },
  { path: "/proc", writable: false, sentence: "New, shows the processes of the jail alone." },
  { path: "/sys", writable: false, sentence: "Absent, and stays so." },
  { path: "/dev", writable: false, sentence: "The few devices that every program expects." },
  { path: "/.palisade", writable: false, sentence: "The launcher." },
  { path: "/newroot", writable: false, sentence: "A name that bubblewrap uses while it builds the root." },
  { path: "/oldroot", writable: false, sentence: "A name that bubblewrap uses while it builds the root." },
  { path: JAIL_TMP, writable: true, sentence: "In memory, sized, gone with the run." },
  { path: JAIL_HOME, writable: true, sentence: "In memory, sized, gone with the run." }
];
var DEVICE_MOUNTS = [
  "/dev/full",
  "/dev/null",
  "/dev/pts",
  "/dev/random",
  "/dev/tty",
  "/dev/urandom",
  "/dev/zero"
];

// packages/gateway/src/tiers/c-bubblewrap/etc-files.ts
var NOBODY_ID = 65534;
var ETC_FILES = [
  {
    path: "/etc/passwd",
    text: lines(
      "root:x:0:0:root:/nonexistent:/usr/sbin/nologin",
      `palisade:x:${JAIL_ID}:${JAIL_ID}:palisade:${JAIL_HOME}:/bin/sh`,
      `nobody:x:${NOBODY_ID}:${NOBODY_ID}:nobody:/nonexistent:/usr/sbin/nologin`
    )
  },
  {
    path: "/etc/group",
    text: lines("root:x:0:", `palisade:x:${JAIL_ID}:`, `nogroup:x:${NOBODY_ID}:`)
  },
  {
    path: "/etc/hosts",
    text: lines(`127.0.0.1 localhost ${JAIL_HOST}`, `::1 localhost ip6-localhost ip6-loopback`)
  },
  {
    path: "/etc/nsswitch.conf",
    text: lines("passwd: files", "group: files", "shadow: files", "hosts: files dns", "services: files")
  }
];
function lines(...texts) {
  return `${texts.join("\n")}
`;
}

// packages/gateway/src/tiers/c-bubblewrap/places.ts
function placeWorkspace(workspace2) {
  const taken = [...SYSTEM_ROOTS, ...JAIL_PLACES].some(({ path }) => overlap(path, workspace2));
  if (!taken) return { inside: workspace2, link: null };
  const linkable = JAIL_PLACES.some(
    ({ path, writable }) => writable && isWithin(workspace2, path) && workspace2 !== path
  );
  return { inside: JAIL_WORKSPACE, link: linkable ? workspace2 : null };
}
function moveInside(path, workspace2, inside) {
  return isWithin(path, workspace2) ? `${inside}${path.slice(workspace2.length)}` : path;
}
function listReadOnly(readOnly) {
  const unseen = new Set(readOnly.filter((path) => !isSystem(path)));
  const outermost = [...unseen].filter((path) => !ancestorsOf(path).some((above) => unseen.has(above)));
  return outermost.sort();
}
function checkReadOnly(terms, inside) {
  for (const path of listReadOnly(terms.readOnly)) {
    const home = [terms.workspace, inside].find((place3) => isWithin(path, place3));
    if (home !== void 0) {
      return unenforceable(
        `Cannot bind "${path}" read-only: it lies in the workspace "${terms.workspace}", expected a path outside`,
        "Name it among the protected paths instead."
      );
    }
    const place2 = findCovered(path);
    if (place2 !== void 0) {
      return unenforceable(
        `Cannot bind "${path}" read-only: it would cover "${place2}" of the jail or lie in it, expected another path`,
        "Put what the run must read into a directory of its own and name that."
      );
    }
  }
  return null;
}
function checkExecutable({ executable, workspace: workspace2, readOnly }) {
  const shown = [workspace2, ...readOnly].some((place2) => isWithin(executable, place2));
  if (shown || isSystem(executable)) return null;
  return unenforceable(
    `Cannot run "${executable}" in a jail: it is not shown there, expected a file in /usr, the workspace or a read-only path`,
    "Add the directory of the program to the read-only paths of the tool."
  );
}
function isSystem(path) {
  return SYSTEM_ROOTS.some((root) => isWithin(path, root.path));
}
function findCovered(path) {
  const places = [...SYSTEM_ROOTS, ...JAIL_PLACES].filter((place2) => place2.path !== "/etc");
  const files = [...ETC_FILES, ...ETC_BINDS];
  const covered = isWithin("/etc", path) ? "/etc" : files.find((file) => overlap(file.path, path))?.path;
  return covered ?? places.find((place2) => overlap(place2.path, path))?.path;
}
function overlap(one, other) {
  return isWithin(one, other) || isWithin(other, one);
}

// packages/gateway/src/tiers/c-bubblewrap/mounts.ts
var PAGE_BYTES = 4096;
function systemOptions(roots) {
  return roots.flatMap(
    ({ path, linkTo }) => linkTo === null ? ["--ro-bind", path, path] : ["--symlink", linkTo, path]
  );
}
function etcOptions(etc, sharesNetwork, allot) {
  const made = ETC_FILES.flatMap(({ path, text }) => {
    return ["--perms", "0444", "--file", String(allot({ role: "bytes", path, text })), path];
  });
  const shown = ETC_BINDS.filter(({ network }) => sharesNetwork || !network).map(({ path }) => String(path));
  const bound = etc.filter(({ path }) => shown.includes(path)).flatMap(
    ({ path, linkTo }) => linkTo !== null && isWithin(posix2.resolve("/etc", linkTo), "/usr") ? ["--symlink", linkTo, path] : ["--ro-bind", path, path]
  );
  return [...made, ...bound];
}
function memoryOptions(memoryBytes) {
  const quarter = Math.max(PAGE_BYTES, Math.floor(memoryBytes / 4 / PAGE_BYTES) * PAGE_BYTES);
  return [
    ...["--proc", "/proc"],
    // Boundary: a second wall before the settings of the kernel, behind the user that may not write them.
    ...["--remount-ro", "/proc"],
    ...["--dev", "/dev"],
    ...["--perms", "1777", "--size", String(quarter), "--tmpfs", JAIL_SHM],
    ...["--remount-ro", "/dev"],
    ...["--perms", "1777", "--size", String(2 * quarter), "--tmpfs", JAIL_TMP],
    ...["--perms", "0700", "--size", String(quarter), "--tmpfs", JAIL_HOME]
  ];
}
function launcherOptions(allot) {
  return ["--perms", "0555", "--file", String(allot({ role: "launcher" })), JAIL_LAUNCHER];
}
function bindOptions(terms, place2, allot) {
  const { inside, link } = place2;
  return [
    ...listReadOnly(terms.readOnly).flatMap((path) => ["--ro-bind", path, path]),
    ...link === null ? [] : ["--symlink", inside, link],
    // Boundary: a descriptor of the checked directory, so that a link put in its place later gains nothing.
    ...["--bind-fd", String(allot({ role: "workspace" })), inside],
    ...protectionOptions(terms.protectedPaths, inside, allot)
  ];
}
function listPinned(protectedPaths) {
  const pinned = new Set(protectedPaths.flatMap(ancestorsOf));
  return [...pinned].filter((path) => !protectedPaths.some((other) => isWithin(path, other))).sort();
}
function protectionOptions(protectedPaths, inside, allot) {
  const pinned = listPinned(protectedPaths).flatMap((path) => {
    return ["--bind-fd", String(allot({ role: "pinned", path })), `${inside}/${path}`];
  });
  const closed = [...new Set(protectedPaths)].sort().flatMap((path) => {
    return ["--ro-bind-fd", String(allot({ role: "protected", path })), `${inside}/${path}`];
  });
  return [...pinned, ...closed];
}

// packages/gateway/src/tiers/c-bubblewrap/expectation.ts
var NO_CAPABILITIES = "0000000000000000";
var CAPABILITY_SETS = ["capinh", "capprm", "capeff", "capbnd", "capamb"];
function expectation2(terms, inside, standing) {
  const isStrict = terms.egress === "strict";
  const id = String(JAIL_ID);
  const network = isStrict ? { interfaces: "lo" } : {};
  const pinned = listPinned(terms.protectedPaths).map((path) => `${inside}/${path}`);
  const writable = [...DEVICE_MOUNTS, JAIL_SHM, JAIL_TMP, JAIL_HOME, inside, ...pinned];
  return {
    equal: {
      ...{ uid: id, gid: id, nnp: "1", seccomp: "2" },
      ...Object.fromEntries(CAPABILITY_SETS.map((set) => [set, NO_CAPABILITIES])),
      ...network,
      ...limitFacts(terms.limits, standing)
    },
    newNamespaces: ["user", "pid", "mnt", "ipc", "uts", "cgroup", ...isStrict ? ["net"] : []],
    mountsRw: writable.map(mountFact).sort()
  };
}
function mountFact(path) {
  return Array.from(Buffer.from(path), (byte) => {
    const sign = String.fromCharCode(byte);
    if (" 	\n\\".includes(sign)) return `\\x5c${byte.toString(8).padStart(3, "0")}`;
    return /^[!-~]$/.test(sign) && sign !== "," ? sign : `\\x${byte.toString(16).padStart(2, "0")}`;
  }).join("");
}

// packages/gateway/src/tiers/c-bubblewrap/version.ts
var NESTED_MOUNTS_SINCE = [0, 12, 0];
var REQUIRED_OPTIONS = [
  ...["--args", "--seccomp", "--as-pid-1", "--new-session", "--die-with-parent", "--cap-drop"],
  ...[
    "--unshare-user",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup"
  ],
  ...["--uid", "--gid", "--hostname", "--chdir", "--clearenv", "--setenv"],
  ...["--ro-bind", "--bind-fd", "--remount-ro", "--proc", "--dev", "--tmpfs", "--size", "--perms", "--file"],
  ...["--dir", "--symlink"]
];
function parseVersion(text) {
  const [, major, minor, patch = "0"] = /^bubblewrap ([0-9]{1,6})\.([0-9]{1,6})(?:\.([0-9]{1,6}))?\s*$/.exec(text) ?? [];
  if (major === void 0 || minor === void 0) return null;
  return [Number(major), Number(minor), Number(patch)];
}
function parseOptions(help) {
  const names = Array.from(help.matchAll(/^ {1,8}(--[a-z0-9-]{1,40})(?= |$)/gm), ([, name]) => name ?? "");
  return [...new Set(names)];
}
function isAtLeast(version, least) {
  const [major, minor, patch] = version;
  const [leastMajor, leastMinor, leastPatch] = least;
  if (major !== leastMajor) return major > leastMajor;
  return minor === leastMinor ? patch >= leastPatch : minor > leastMinor;
}

// packages/gateway/src/tiers/c-bubblewrap/plan.ts
var FILTER_WISH_C = { unixSockets: false, inet: true };
var FIRST_DESCRIPTOR3 = 3;
var MOST_WORDS = 9e3;
var REAPERS2 = 1;
function planC(terms, host) {
  const refusal = checkTerms(terms) ?? checkHost(host) ?? checkProtection2(terms, host) ?? checkExecutable(terms);
  if (refusal !== null) return refusal;
  const place2 = placeWorkspace(terms.workspace);
  const plan = layOut2(terms, host, place2);
  return checkReadOnly(terms, place2.inside) ?? checkLength(plan) ?? plan;
}
function layOut2(terms, host, place2) {
  const descriptors = [];
  const allot = (descriptor) => FIRST_DESCRIPTOR3 - 1 + descriptors.push(descriptor);
  const argsFd = allot({ role: "args" });
  const args = [
    ...namespaceOptions(terms, host),
    // Nothing of the jail but its launcher has no variables: the command's come with its words.
    "--clearenv",
    ...["--seccomp", String(allot({ role: "seccomp", bytes: host.seccomp }))],
    ...systemOptions(host.systemRoots),
    ...etcOptions(host.etc, terms.egress !== "strict", allot),
    ...memoryOptions(terms.limits.memoryBytes),
    ...launcherOptions(allot),
    ...bindOptions(terms, place2, allot),
    ...["--remount-ro", "/"],
    ...["--chdir", "/"]
  ];
  const standing = { others: REAPERS2, hasGroup: host.cgroupDescriptors > 0 };
  const wordsFd = allot({ role: "words" });
  const told = [
    "mode=run",
    ...limitWords(terms.limits, standing),
    ...[`status=${allot({ role: "status" })}`, `control=${allot({ role: "control" })}`],
    `cwd=${moveInside(terms.cwd, terms.workspace, place2.inside)}`,
    ...environmentWords(insideEnvironment(terms.env)),
    ...["facts=1", "--", moveInside(terms.executable, terms.workspace, place2.inside), ...terms.argv]
  ];
  return {
    ok: true,
    words: [
      ...outerWords(host, descriptors, allot),
      ...["--", host.bwrap, "bwrap", "--args", String(argsFd), "--", JAIL_LAUNCHER, `words=${wordsFd}`]
    ],
    args,
    told,
    descriptors,
    workspace: place2.inside,
    expected: expectation2(terms, place2.inside, standing)
  };
}
function namespaceOptions(terms, host) {
  return [
    ...["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup"],
    ...terms.egress === "strict" ? ["--unshare-net"] : [],
    ...host.bwrapOptions.includes("--disable-userns") ? ["--disable-userns"] : [],
    ...["--uid", String(JAIL_ID), "--gid", String(JAIL_ID), "--hostname", JAIL_HOST],
    ...["--cap-drop", "ALL", "--new-session", "--die-with-parent", "--as-pid-1"]
  ];
}
function insideEnvironment(env) {
  return { PATH: JAIL_PATH, ...env, HOME: JAIL_HOME, TMPDIR: JAIL_TMP };
}
function outerWords(host, descriptors, allot) {
  const keep = descriptors.map((_, index) => `keep=${FIRST_DESCRIPTOR3 + index}`);
  const workspaceFd = FIRST_DESCRIPTOR3 + descriptors.findIndex(({ role }) => role === "workspace");
  const { asRoot } = host;
  const identity = asRoot === null ? [] : identityWords(asRoot, { workspaceFd, mapFd: allot({ role: "map", asRoot }) });
  const indices = Array.from({ length: host.cgroupDescriptors }, (_, index) => index);
  const groups = indices.map((index) => `cgroup=${allot({ role: "cgroup", index })}`);
  return ["mode=exec", ...identity, ...groups, ...keep];
}
function checkHost(host) {
  const missing = REQUIRED_OPTIONS.find((option) => !host.bwrapOptions.includes(option));
  if (missing !== void 0) {
    return unenforceable(
      `Cannot build a jail: bubblewrap ${host.bwrapVersion.join(".")} has no ${missing}, expected one that has`,
      "Install bubblewrap 0.12 or newer, or the security update of your distribution."
    );
  }
  return checkIdentity(host.asRoot) ?? checkFilter(host.seccomp);
}
function checkProtection2(terms, host) {
  const [first] = terms.protectedPaths;
  const isSafe = isAtLeast(host.bwrapVersion, NESTED_MOUNTS_SINCE);
  const canBind = host.bwrapOptions.includes("--ro-bind-fd");
  if (first === void 0 || isSafe && canBind) return null;
  return unenforceable(
    `Cannot protect "${first}" in the workspace: bubblewrap is ${host.bwrapVersion.join(".")}, expected ${NESTED_MOUNTS_SINCE.join(".")} or newer`,
    "Install bubblewrap 0.12 or newer, or leave the protection to the list of changes after the run."
  );
}
function checkLength({ words: outer, args }) {
  const words = outer.length + args.length;
  if (words <= MOST_WORDS) return null;
  return unenforceable(
    `Cannot build the jail: it takes ${words} words, expected at most ${MOST_WORDS}`,
    "Name fewer read-only paths, variables or arguments."
  );
}

// packages/gateway/src/tiers/c-bubblewrap/index.ts
function jailTier(found) {
  const version = found.bwrapVersion.join(".");
  const seccomp = seccompProgram(arch2() === "arm64" ? "arm64" : "x64", FILTER_WISH_C);
  return {
    name: "c",
    executor: `bubblewrap@${version}`,
    about: {
      boundary: "bubblewrap",
      bwrapVersion: version,
      bwrapSha256: found.bwrapSha256,
      launcherSha256: found.launcherSha256
    },
    plan: (terms, { cgroups, asRoot }) => {
      const plan = planC(terms, { ...found, seccomp, cgroupDescriptors: cgroups, asRoot });
      if (!plan.ok) return plan;
      const { expected, workspace: _, ...rest } = plan;
      const missing = (facts) => missingFact(facts, expected.equal) ?? sharedNamespace(facts, expected.newNamespaces, found.ownNamespaces) ?? openMount(facts, expected.mountsRw);
      return { ...rest, missing };
    }
  };
}
function openMount(facts, expected) {
  const writable = (facts.mounts_rw ?? "").split(",").filter((path) => path !== "");
  const more = writable.find((path) => !expected.includes(path));
  if (more !== void 0) return `"${more}" can be written, expected it read-only`;
  const less = expected.find((path) => !writable.includes(path));
  return less === void 0 ? null : `"${less}" is not there to be written`;
}

// packages/gateway/src/tiers/process/attempt.ts
var ERRNO_WORDS = [
  [/\bE(?:PERM|ACCES|NOSPC|INVAL|NOSYS|AGAIN|NOENT)\b/, ""],
  [/operation not permitted|no permissions/i, "EPERM"],
  [/permission denied/i, "EACCES"],
  [/no space left/i, "ENOSPC"],
  [/invalid argument/i, "EINVAL"],
  [/function not implemented/i, "ENOSYS"],
  [/resource temporarily unavailable/i, "EAGAIN"],
  [/no such file/i, "ENOENT"]
];
var MOST_SIGNS = 200;
function attemptOf(end, statusBytes) {
  if (end.spawnError !== null) return failedAt("start", end.spawnError, end.spawnError);
  const parsed = parseStatus(statusBytes ?? new Uint8Array(0));
  if (!parsed.ok) return failedAt("report", parsed.message, null);
  const { failed, execError, exit, facts } = parsed.value;
  if (failed !== null) return failedAt(failed.step, failed.name, failed.name);
  if (execError !== null) return failedAt("execute", execError.name, execError.name);
  if (end.stopped !== null) return failedAt("end", `it was ${end.stopped}`, null);
  if (exit === 0) return { ok: true, facts };
  return exit === null ? unsaid(end) : failedAt("command", `exit status ${exit}`, null);
}
function unsaid({ exitCode, signal, stderr }) {
  const line = firstLine(stderr);
  const said = line === "" ? signal ?? `exit status ${exitCode}` : line;
  return failedAt("sandbox", said, errnoIn(said));
}
function firstLine(bytes) {
  const [line = ""] = Buffer.from(bytes).toString("latin1").trimStart().split("\n");
  return line.slice(0, MOST_SIGNS).replaceAll(/[^ -~]/g, "?");
}
function errnoIn(said) {
  for (const [words, errno] of ERRNO_WORDS) {
    const [found] = words.exec(said) ?? [];
    if (found !== void 0) return errno === "" ? found : errno;
  }
  return null;
}
function failedAt(step, said, errno) {
  return { ok: false, fault: { step, said, errno } };
}

// packages/gateway/src/tiers/process/machine.ts
import { createHash } from "node:crypto";
import { lstatSync as lstatSync2, readdirSync, readFileSync, readlinkSync as readlinkSync2, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
var HARMLESS = { file: "/bin/sh", argv: ["sh", "-c", ":"] };
var NAMESPACES = ["user", "pid", "mnt", "net", "ipc", "uts", "cgroup"];
var EXECUTABLE = 73;
var SHARED_WRITE = 18;
var OTHERS_WRITE = 2;
var STICKY = 512;
function ownNamespaces() {
  const entries = NAMESPACES.map((name) => {
    const [, number = ""] = /\[(\d+)\]/.exec(readlinkSync2(`/proc/self/ns/${name}`)) ?? [];
    return [name, number];
  });
  return Object.fromEntries(entries);
}
function findProgram(paths, missing) {
  for (const raw of paths) {
    const path = realPath(raw);
    if (path === null) continue;
    return weakness(path) ?? {
      ok: true,
      path,
      sha256: createHash("sha256").update(readFileSync(path)).digest("hex")
    };
  }
  return { ok: false, ...missing };
}
function weakness(path) {
  const stats = statSync(path);
  if (!stats.isFile() || (stats.mode & EXECUTABLE) === 0)
    return { ok: false, why: `"${path}" is no program`, fix: "Put the program in its place again." };
  const isOurs = stats.uid === 0 || stats.uid === process.getuid?.();
  if (!isOurs || (stats.mode & SHARED_WRITE) !== 0)
    return {
      ok: false,
      why: `"${path}" can be changed by others`,
      fix: `chown root ${path}; chmod 755 ${path}`
    };
  const open = directoriesAbove(path).find((directory) => isOpenToAll(statSync(directory).mode));
  if (open === void 0) return null;
  return { ok: false, why: `"${path}" can be replaced by others in "${open}"`, fix: `chmod o-w ${open}` };
}
function isOpenToAll(mode) {
  return (mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0;
}
function directoriesAbove(path) {
  const above = dirname(path);
  return above === path ? [] : [above, ...directoriesAbove(above)];
}
function realPath(path) {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
}
function hostPaths(paths) {
  return paths.flatMap((path) => {
    try {
      const isLink = lstatSync2(path).isSymbolicLink();
      statSync(path);
      return [{ path, linkTo: isLink ? readlinkSync2(path) : null }];
    } catch {
      return [];
    }
  });
}
var OTHERS_ENTER = 1;
function isInReachOfAll(path) {
  try {
    return directoriesAbove(path).every((directory) => (statSync(directory).mode & OTHERS_ENTER) !== 0);
  } catch {
    return false;
  }
}
function threadsOf(uid) {
  let threads = 0;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (statSync(`/proc/${name}`).uid === uid) threads += readdirSync(`/proc/${name}/task`).length;
    } catch {
    }
  }
  return threads;
}

// packages/gateway/src/tiers/process/probe.ts
var BWRAPS = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];
var NO_BWRAP = {
  why: "bubblewrap is not installed",
  fix: "Install it: apt-get install bubblewrap, dnf install bubblewrap, or your system\u2019s like."
};
var NO_LAUNCHER = {
  why: "the launcher is not built",
  fix: "Run `npm run setup` in the project; it needs a C compiler: apt-get install gcc libc6-dev."
};
var NO_LINUX = {
  ok: false,
  why: "this is not Linux",
  fix: "Run palisade on Linux, or in a virtual machine with it."
};
var SAID_BYTES = 65536;
var PATIENCE_MS2 = 5e3;
var STATUS_FD = 3;
async function probeB(options) {
  const launcher = findLauncher(options);
  if (!launcher.ok) return launcher;
  const namespaces = await tryLauncher(launcher.path, options, ["ns=1"]);
  const hasLandlock = !namespaces.ok && (await tryLandlock(launcher.path, options)).ok;
  const found = {
    launcherSha256: launcher.sha256,
    hasNamespaces: namespaces.ok,
    hasLandlock,
    ownNamespaces: ownNamespaces(),
    ownThreads: () => threadsOf(options.runAs?.uid ?? process.getuid?.() ?? 0),
    isReachable: isInReachOfAll
  };
  return { ok: true, tier: processTier(found), launcher: launcher.path, namespaces };
}
async function probeC(options) {
  const launcher = findLauncher(options);
  if (!launcher.ok) return launcher;
  const bwrap = findProgram(options.bwraps ?? BWRAPS, NO_BWRAP);
  if (!bwrap.ok) return bwrap;
  const [version, help] = await Promise.all(
    ["--version", "--help"].map((word2) => say(options.clock, bwrap.path, ["bwrap", word2]))
  );
  const bwrapVersion = parseVersion(version ?? "");
  if (bwrapVersion === null)
    return { ok: false, why: `"${bwrap.path}" does not say its version`, fix: NO_BWRAP.fix };
  const jail = {
    bwrap: bwrap.path,
    bwrapSha256: bwrap.sha256,
    bwrapVersion,
    bwrapOptions: parseOptions(help ?? ""),
    launcherSha256: launcher.sha256,
    systemRoots: hostPaths(SYSTEM_ROOTS.map(({ path }) => path)),
    etc: hostPaths(ETC_BINDS.map(({ path }) => path)),
    ownNamespaces: ownNamespaces()
  };
  return { ok: true, tier: jailTier(jail), launcher: launcher.path, jail };
}
function findLauncher({ launchers }) {
  if (process.platform !== "linux") return NO_LINUX;
  return findProgram(launchers, NO_LAUNCHER);
}
function tryLandlock(launcher, options) {
  return tryLauncher(launcher, options, ["ro=/"]);
}
async function tryLauncher(launcher, { clock: clock2, runAs: runAs2 }, wish) {
  const ids = runAs2 === null ? [] : [`uid=${runAs2.uid}`, `gid=${runAs2.gid}`];
  const words = [...ids, ...wish, `status=${STATUS_FD}`, "facts=1", "--", HARMLESS.file, ...HARMLESS.argv];
  const end = await run(clock2, launcher, ["palisade-launcher", ...words]);
  return attemptOf(end, end.read[0]);
}
async function say(clock2, file, args) {
  return Buffer.from((await run(clock2, file, args)).stdout).toString();
}
function run(clock2, file, args) {
  const plan = {
    ...{ file, args, env: {}, cwd: "/", stdin: null },
    descriptors: [{ kind: "read", maxBytes: MAX_STATUS_BYTES }],
    outputBytes: SAID_BYTES,
    wallMs: PATIENCE_MS2,
    graceMs: PATIENCE_MS2
  };
  return runChild(plan, { signal: new AbortController().signal, clock: clock2 });
}

// packages/gateway/src/tiers/workspace/held-directory.ts
import {
  closeSync as closeSync5,
  constants as constants5,
  fstatSync as fstatSync2,
  lstatSync as lstatSync3,
  opendirSync,
  openSync as openSync4,
  readlinkSync as readlinkSync3
} from "node:fs";
var { O_DIRECTORY, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants5;
var SLASH = Buffer.from("/");

// packages/gateway/src/tiers/workspace/names.ts
var PLAIN = /^[ -[\]-~]*$/;
var IGNORED_BY_HFS = /\\xe2\\x80\\x(?:8[c-f]|a[a-e])|\\xe2\\x81\\xa[a-f]|\\xef\\xbb\\xbf/g;
function foldName(text) {
  const seen = text.includes("\\") ? text.replace(IGNORED_BY_HFS, "") : text;
  if (PLAIN.test(seen.replaceAll("\\", ""))) return seen.toLowerCase();
  return seen.normalize("NFKC").toUpperCase().toLowerCase();
}
function foldPath(path) {
  return PLAIN.test(path) ? path.toLowerCase().split("/") : path.split("/").map(foldName);
}

// packages/gateway/src/tiers/workspace/findings.table.ts
var FINDINGS = {
  setuid: {
    severity: "danger",
    sentence: "Whoever starts it runs it with the rights of its owner."
  },
  setgid: {
    severity: "danger",
    sentence: "Whoever starts it runs it with the rights of its group."
  },
  "setgid-directory": {
    severity: "notice",
    sentence: "New files in it get its group, not that of their maker."
  },
  socket: {
    severity: "danger",
    sentence: "A program that connects to it talks to whoever listens there."
  },
  fifo: {
    severity: "danger",
    sentence: "A program that opens it without care waits for ever."
  },
  device: {
    severity: "danger",
    sentence: "A program that opens it reaches a device of this machine."
  },
  "unknown-kind": {
    severity: "danger",
    sentence: "It is nothing that a workspace should have."
  },
  "link-outside": {
    severity: "danger",
    sentence: "A program that follows it reads or writes outside the workspace."
  },
  "link-loop": {
    severity: "notice",
    sentence: "It leads to itself; a program that follows links by itself may not end."
  },
  "link-unseen": {
    severity: "danger",
    sentence: "It leads through a part of the workspace that was not looked at."
  },
  "link-unjudged": {
    severity: "danger",
    sentence: "There are too many links, or too long ones, to tell where it leads or what leads to it."
  },
  "hard-link-outside": {
    severity: "danger",
    sentence: "The same file has a name outside what was looked at; a change here is a change there."
  },
  "control-name": {
    severity: "danger",
    sentence: "Its name has control characters; printed as it is, it can act on a terminal or split a line."
  },
  "disguised-name": {
    severity: "notice",
    sentence: "Its name has invisible characters, outer spaces or invalid text and may look like another one."
  },
  unseen: {
    severity: "danger",
    sentence: "It was not looked at, so nothing is known about what is in it."
  },
  mount: {
    severity: "notice",
    sentence: "Something is mounted there; it was not looked at."
  },
  "runs-later": {
    severity: "notice",
    sentence: "A tool executes or trusts it later."
  }
};

// packages/gateway/src/tiers/workspace/glob.ts
function foldedGlob(pattern) {
  return globOf(foldPath(pattern));
}
function globOf(names) {
  const runs = [[]];
  for (const name of names) {
    if (name === "**") runs.push([]);
    else runs.at(-1)?.push(name.split("*"));
  }
  const first = names.find((name) => name !== "**");
  return { runs, key: first === void 0 || first.includes("*") ? null : first };
}
function fits({ runs }, names) {
  const first = runs[0] ?? [];
  const last = runs.at(-1) ?? [];
  if (runs.length === 1) return names.length === first.length && runFits(first, names, 0);
  const end = names.length - last.length;
  if (first.length > end || !runFits(first, names, 0) || !runFits(last, names, end)) return false;
  let at = first.length;
  for (let index = 1; index < runs.length - 1; index += 1) {
    const run2 = runs[index] ?? [];
    while (at + run2.length <= end && !runFits(run2, names, at)) at += 1;
    at += run2.length;
    if (at > end) return false;
  }
  return true;
}
function runFits(run2, names, at) {
  for (let index = 0; index < run2.length; index += 1) {
    if (!partFits(run2[index] ?? [], names[at + index] ?? "")) return false;
  }
  return true;
}
function partFits(part, name) {
  const first = part[0] ?? "";
  if (part.length === 1) return name === first;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (let index = 1; index < part.length - 1; index += 1) {
    const piece = part[index] ?? "";
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  const last = part.at(-1) ?? "";
  return name.length - last.length >= at && name.endsWith(last);
}
function indexGlobs(values) {
  const rows = values.map((row, order) => ({ ...row, order }));
  const byKey = /* @__PURE__ */ new Map();
  for (const row of rows) {
    const list = byKey.get(row.glob.key);
    if (list === void 0) byKey.set(row.glob.key, [row]);
    else list.push(row);
  }
  return (names) => {
    const found = [];
    for (const key of [null, ...names]) {
      for (const row of byKey.get(key) ?? []) if (fits(row.glob, names)) found.push(row);
    }
    return found.length === 0 ? [] : [...new Set(found.sort((a, b) => a.order - b.order))].map(({ value }) => value);
  };
}

// packages/gateway/src/tiers/workspace/other-names.ts
var WORK_CHARS = 32 * 1024 * 1024;

// packages/gateway/src/tiers/workspace/resolve-link.ts
var WORK_CHARS2 = 32 * 1024 * 1024;

// packages/gateway/src/tiers/workspace/sensitive.table.ts
var SENSITIVE = [
  // Git: a hook or a line of configuration runs at the next status, commit, checkout, fetch or push.
  danger(".git/hooks/**", "Git runs hooks at commits, checkouts, merges and pushes."),
  danger(".git/config", "Git runs the programs it names (fsmonitor, sshCommand, pager, filters, aliases)."),
  danger(".git/config.worktree", "Git runs the programs it names, as those of .git/config."),
  danger(".git/modules/**/config", "Git runs the programs that the configuration of a submodule names."),
  danger(".git/modules/**/hooks/**", "Git runs hooks of a submodule when it is updated."),
  danger(
    ".git/worktrees/**/config.worktree",
    "Git runs the programs that the configuration of a worktree names."
  ),
  danger(".git/worktrees/*/gitdir", "Git takes it for the place of a worktree."),
  danger(".git/**/commondir", "Git takes hooks and configuration from the directory it names."),
  danger(".git/info/attributes", "Git runs the filters and drivers that it selects."),
  danger(".git/objects/info/alternates", "Git reads objects from the directories it names."),
  danger(".git", "A file or link here sends git to a repository with its own hooks and configuration."),
  danger(".gitmodules", "Git fetches from the addresses and into the paths it names."),
  danger(".gitattributes", "Git runs the filters, diff and merge drivers that it selects."),
  danger(".gitconfig", "Git includes it where a configuration points to it, and runs the programs it names."),
  danger(".githooks/**", "Git runs hooks from it where core.hooksPath points to it."),
  danger(".husky/**", "Git runs its scripts as hooks."),
  danger(".hg/hgrc", "Mercurial runs the hooks and extensions it names."),
  danger(".svn/**", "Subversion trusts it."),
  notice(".lfsconfig", "Git LFS sends and fetches files where it says."),
  notice(".pre-commit-config.yaml", "pre-commit fetches and runs what it names at every commit."),
  notice(".pre-commit-hooks.yaml", "pre-commit runs what it names in other repositories."),
  notice("lefthook.y*ml", "Lefthook runs its commands as git hooks."),
  notice(".lefthook/**", "Lefthook runs its scripts as git hooks."),
  notice(".lintstagedrc*", "lint-staged runs its commands at every commit."),
  // Entering or opening the directory is enough.
  danger(".envrc", "direnv runs it when somebody enters the directory."),
  danger(".direnv/**", "direnv loads it when somebody enters the directory."),
  danger(".autoenv*", "autoenv runs it when somebody enters the directory."),
  danger(
    ".vscode/*.json",
    "VS Code takes tasks, debuggers and paths of programs from it when the folder is opened."
  ),
  danger("*.code-workspace", "VS Code takes tasks, settings and paths of programs from it."),
  danger(
    ".idea/**",
    "JetBrains editors take run configurations and tools from it when the folder is opened."
  ),
  danger("*.iml", "JetBrains editors take it for the definition of a module."),
  danger(".fleet/**", "Fleet takes run configurations and tools from it."),
  danger(".zed/**", "Zed takes tasks and language servers from it."),
  danger(".nvim.lua", "Neovim runs it in its directory where exrc is on."),
  danger(".nvimrc", "Neovim runs it in its directory where exrc is on."),
  danger(".exrc", "vi runs it in its directory where exrc is on."),
  danger(".vimrc", "Vim runs it in its directory where exrc is on."),
  danger(".lvimrc", "Vim runs it in its directory with the plugin localvimrc."),
  danger(".dir-locals*.el", "Emacs evaluates it for every file that is opened in the directory."),
  danger(".devcontainer/**", "Editors build and start containers with mounts and commands from it."),
  danger(".devcontainer.json", "Editors build and start containers with mounts and commands from it."),
  danger(".gitpod.y*ml", "Gitpod runs its tasks when the workspace is opened."),
  danger(".tool-versions", "asdf and mise choose the programs that everyday commands start by it."),
  danger(
    ".mise.toml",
    "mise sets variables and runs hooks and tasks from it when somebody enters the directory."
  ),
  danger(
    "mise.toml",
    "mise sets variables and runs hooks and tasks from it when somebody enters the directory."
  ),
  danger(".mise/**", "mise sets variables and runs hooks and tasks from it."),
  danger(".config/mise/**", "mise sets variables and runs hooks and tasks from it."),
  notice(".ruby-version", "Version managers choose the Ruby that commands start by it."),
  notice(".python-version", "pyenv and uv choose the Python that commands start by it."),
  notice(".node-version", "Version managers choose the Node that commands start by it."),
  notice(".nvmrc", "nvm chooses the Node that commands start by it."),
  notice("rust-toolchain*", "rustup chooses, and fetches, the toolchain it names."),
  danger(".env", "Many programs take variables from it, paths of programs among them."),
  danger(".env.*", "Many programs take variables from it, paths of programs among them."),
  danger("flake.nix", "Nix evaluates it, and direnv does when somebody enters the directory."),
  danger("shell.nix", "Nix evaluates it, and direnv does when somebody enters the directory."),
  notice("default.nix", "Nix evaluates and builds it."),
  notice("devbox.json", "Devbox runs its hooks when a shell is opened."),
  // What the next agent believes or starts.
  danger(".mcp.json", "Agents start the servers it names."),
  danger("mcp.json", "Agents and editors start the servers it names."),
  danger(".claude/**", "Claude Code takes permissions, hooks and commands from it."),
  danger(".claude.json", "Claude Code takes servers and permissions from it."),
  danger("CLAUDE.md", "Claude Code takes it for instructions."),
  danger("CLAUDE.local.md", "Claude Code takes it for instructions."),
  danger("AGENTS.md", "Agents take it for instructions."),
  danger("AGENTS.override.md", "Agents take it for instructions."),
  danger("AGENT.md", "Agents take it for instructions."),
  danger(".agents/**", "Agents take skills and instructions from it."),
  danger("GEMINI.md", "Gemini CLI takes it for instructions."),
  danger(".gemini/**", "Gemini CLI takes settings, servers and instructions from it."),
  danger(".cursor/**", "Cursor takes rules, servers and hooks from it."),
  danger(".cursorrules", "Cursor takes it for instructions."),
  danger(".windsurf/**", "Windsurf takes rules and workflows from it."),
  danger(".windsurfrules", "Windsurf takes it for instructions."),
  danger(".clinerules", "Cline takes it for instructions."),
  danger(".clinerules/**", "Cline takes it for instructions."),
  danger(".roo/**", "Roo Code takes rules and servers from it."),
  danger(".codex/**", "Codex takes configuration, servers and rules from it."),
  danger(".aider*", "Aider takes settings and commands from it."),
  danger(".continue/**", "Continue takes models, servers and rules from it."),
  danger(".kiro/**", "Kiro takes hooks, servers and instructions from it."),
  danger(".opencode/**", "opencode takes agents, commands and plugins from it."),
  danger("opencode.json*", "opencode takes servers, permissions and plugins from it."),
  danger(".github/copilot-instructions.md", "Copilot takes it for instructions."),
  danger(".github/instructions/**", "Copilot takes it for instructions."),
  danger(".github/agents/**", "Copilot takes agents and their tools from it."),
  // Files of the home directory, for a workspace that is one.
  danger(".bashrc", "The shell runs it when it starts."),
  danger(".bash_*", "The shell runs it when it starts, ends or completes a word."),
  danger(".profile", "The shell runs it at log-in."),
  danger(".login", "The shell runs it at log-in."),
  danger(".zshrc", "The shell runs it when it starts."),
  danger(".zshenv", "The shell runs it when it starts, for scripts too."),
  danger(".zprofile", "The shell runs it at log-in."),
  danger(".zlogin", "The shell runs it at log-in."),
  danger(".zlogout", "The shell runs it at log-out."),
  danger(".cshrc", "The shell runs it when it starts."),
  danger(".tcshrc", "The shell runs it when it starts."),
  danger(".kshrc", "The shell runs it when it starts."),
  danger(".inputrc", "The shell binds keys to what it says."),
  danger(".config/fish/**", "The shell runs it when it starts."),
  danger(".config/autostart/**", "The desktop starts it at log-in."),
  danger(".config/systemd/**", "systemd starts the units of the user from it."),
  danger(".config/git/**", "Git runs the programs it names."),
  danger("Library/LaunchAgents/**", "macOS starts it at log-in."),
  danger(".ssh/**", "OpenSSH takes keys, hosts and commands from it."),
  danger(".gnupg/**", "GnuPG takes keys and paths of programs from it."),
  danger(".netrc", "curl, git and others send the passwords in it where it says."),
  danger(".curlrc", "curl takes options from it, places to write to among them."),
  danger(".wgetrc", "wget takes options from it, places to write to among them."),
  danger(".gdbinit", "GDB runs it when it starts in the directory."),
  danger(".lldbinit", "LLDB runs it when it starts in the directory."),
  danger(".screenrc", "screen runs the commands in it."),
  danger(".tmux.conf", "tmux runs the commands in it."),
  danger(".psqlrc", "psql runs it when it starts."),
  danger(".docker/config.json", "Docker starts the credential helpers it names."),
  danger(".kube/config", "kubectl starts the credential plugins it names."),
  danger(".aws/**", "The tools of AWS start the credential processes it names."),
  // JavaScript.
  danger(".npmrc", "npm takes registries, tokens and the shell of scripts from it."),
  danger(".yarnrc*", "Yarn runs the program and plugins it names instead of itself."),
  danger(".yarn/releases/**", "Yarn runs it instead of itself."),
  danger(".yarn/plugins/**", "Yarn loads it."),
  danger(".pnp.*js", "Node loads it before everything else under Yarn."),
  danger(".pnpmfile.*js", "pnpm runs it at every install."),
  danger("pnpm-workspace.yaml", "pnpm takes packages and which of their scripts may run from it."),
  danger("bunfig.toml", "Bun loads the files it names before everything else."),
  notice("package.json", "npm runs its scripts, some of them at install."),
  notice("package-lock.json", "npm fetches what it names."),
  notice("npm-shrinkwrap.json", "npm fetches what it names."),
  notice("yarn.lock", "Yarn fetches what it names."),
  notice("pnpm-lock.yaml", "pnpm fetches what it names."),
  notice("bun.lock*", "Bun fetches what it names."),
  notice("binding.gyp", "npm builds it at install, and it can run commands."),
  notice(".babelrc*", "Babel loads the plugins it names."),
  notice(".eslintrc*", "ESLint and editors load the plugins it names."),
  notice(".prettierrc*", "Prettier and editors load the plugins it names."),
  notice(".mocharc*", "Mocha loads the files it names."),
  notice("*.config.*js", "Build tools, linters, test runners and editors run it."),
  notice("*.config.*ts", "Build tools, linters, test runners and editors run it."),
  notice("gulpfile*", "Gulp runs it."),
  notice("Gruntfile*", "Grunt runs it."),
  notice("deno.json*", "Deno takes tasks and the places of imports from it."),
  notice("turbo.json", "Turborepo runs its tasks."),
  notice("nx.json", "Nx runs its tasks and plugins."),
  // Python: a .pth file, sitecustomize and a conftest run without being asked for.
  danger("site-packages/*.pth", "Python runs its lines at every start."),
  danger("dist-packages/*.pth", "Python runs its lines at every start."),
  notice("*.pth", "Python runs its lines at every start once it lies in site-packages."),
  danger("sitecustomize.py", "Python runs it at every start."),
  danger("usercustomize.py", "Python runs it at every start."),
  danger("pyvenv.cfg", "Python takes the place of its library from it."),
  danger("bin/activate*", "The shell runs it when somebody activates the environment."),
  notice("conftest.py", "pytest runs it before any test."),
  notice("setup.py", "pip runs it at install."),
  notice("setup.cfg", "Python tools take plugins and commands from it."),
  notice("pyproject.toml", "pip, uv and others load the build backend and plugins it names."),
  notice("tox.ini", "tox runs its commands, and pytest takes options from it."),
  notice("noxfile.py", "nox runs it."),
  notice("pytest.ini", "pytest loads the plugins it names."),
  notice(".pytest.ini", "pytest loads the plugins it names."),
  notice("tasks.py", "Invoke runs it."),
  notice("fabfile.py", "Fabric runs it."),
  notice("manage.py", "Django projects are run through it."),
  notice("pip.conf", "pip fetches packages from where it says."),
  notice("requirements*.txt", "pip fetches and builds what it names."),
  notice("Pipfile*", "pipenv fetches and builds what it names."),
  notice(".pylintrc", "pylint runs the code in it and loads the plugins it names."),
  notice("pylintrc", "pylint runs the code in it and loads the plugins it names."),
  notice(".condarc", "conda fetches packages from where it says."),
  notice("environment.y*ml", "conda fetches what it names."),
  // Rust, Go, the JVM, C and the rest.
  danger(".cargo/config*", "Cargo runs the runner, linker and wrapper it names."),
  notice("Cargo.toml", "Cargo fetches and builds what it names."),
  notice("build.rs", "Cargo runs it at every build."),
  notice("go.mod", "Go fetches what it names, another toolchain included."),
  notice("go.work", "Go takes modules from the places it names."),
  notice("build.gradle*", "Gradle runs it, and editors do when the folder is opened."),
  notice("settings.gradle*", "Gradle runs it, and editors do when the folder is opened."),
  notice("init.gradle*", "Gradle runs it."),
  notice("gradle.properties", "Gradle takes the Java and its options from it."),
  notice("gradlew*", "It is what people run in place of Gradle."),
  notice("gradle/wrapper/**", "The wrapper fetches and runs what it names."),
  notice(".mvn/**", "Maven loads extensions and options from it."),
  notice("mvnw*", "It is what people run in place of Maven."),
  notice("pom.xml", "Maven runs the plugins it names."),
  notice("build.xml", "Ant runs it."),
  notice("*.sbt", "sbt runs it."),
  notice("project/*.scala", "sbt runs it."),
  notice("CMakeLists.txt", "CMake runs its commands, and editors do when the folder is opened."),
  notice("*.cmake", "CMake runs its commands."),
  notice("CMakePresets.json", "CMake takes the paths of programs from it."),
  notice("CMakeUserPresets.json", "CMake takes the paths of programs from it."),
  notice("configure", "It is what people run before a build."),
  notice("configure.ac", "autoconf runs its commands."),
  notice("meson.build", "Meson runs its commands."),
  notice("SConstruct", "SCons runs it."),
  notice("wscript", "waf runs it."),
  notice("BUILD.bazel", "Bazel runs its rules."),
  notice("WORKSPACE*", "Bazel fetches and runs what it names."),
  notice("MODULE.bazel", "Bazel fetches and runs what it names."),
  danger(".bazelrc", "Bazel takes options from it, paths of programs among them."),
  danger("tools/bazel", "Bazel runs it in its own place."),
  notice("*.csproj", "MSBuild runs its targets, and editors do when the folder is opened."),
  notice("Directory.Build.*", "MSBuild runs its targets for every project below it."),
  notice("NuGet.config", "NuGet fetches packages from where it says."),
  notice("Rakefile", "Rake runs it."),
  notice("*.rake", "Rake runs it."),
  notice("Gemfile*", "Bundler runs it and fetches what it names."),
  notice("*.gemspec", "Bundler runs it."),
  danger(".bundle/config", "Bundler takes paths and commands from it."),
  danger(".irbrc", "irb runs it when it starts in the directory."),
  danger(".pryrc", "pry runs it when it starts in the directory."),
  notice("composer.json", "Composer runs its scripts and plugins."),
  notice("mix.exs", "Mix runs it."),
  notice("Package.swift", "Swift runs it at every build."),
  notice("Podfile", "CocoaPods runs it."),
  notice("build.zig", "Zig runs it at every build."),
  danger(".Rprofile", "R runs it when it starts in the directory."),
  // What people run by its place.
  notice("Makefile*", "make runs its commands."),
  notice("GNUmakefile", "make runs its commands, and takes it before Makefile."),
  notice("*.mk", "make runs its commands where it is included."),
  notice("justfile", "just runs its commands."),
  notice(".justfile", "just runs its commands."),
  notice("Taskfile*", "Task runs its commands."),
  notice("Vagrantfile", "Vagrant runs it."),
  notice("Procfile*", "Process managers start its commands."),
  notice("Brewfile", "Homebrew runs it and installs what it names."),
  notice("*.sh", "It may be executed, and its name asks for it.", true),
  notice("*.command", "macOS runs it when it is opened.", true),
  notice("*.desktop", "A desktop runs the command in it when it is opened."),
  // What machines run: pipelines and images.
  danger(".github/workflows/**", "GitHub runs it with the secrets of the repository."),
  danger(".github/actions/**", "GitHub runs it in workflows."),
  danger("action.y*ml", "GitHub runs it in workflows."),
  danger(".gitlab-ci.y*ml", "GitLab runs it with the secrets of the project."),
  danger(".gitlab/ci/**", "GitLab runs it with the secrets of the project."),
  danger("Jenkinsfile*", "Jenkins runs it with the secrets of the project."),
  danger(".circleci/**", "CircleCI runs it with the secrets of the project."),
  danger(".travis.y*ml", "Travis runs it with the secrets of the project."),
  danger(".drone.y*ml", "Drone runs it with the secrets of the project."),
  danger(".woodpecker*", "Woodpecker runs it with the secrets of the project."),
  danger(".woodpecker/**", "Woodpecker runs it with the secrets of the project."),
  danger(".buildkite/**", "Buildkite runs it with the secrets of the project."),
  danger(".forgejo/workflows/**", "Forgejo runs it with the secrets of the repository."),
  danger(".gitea/workflows/**", "Gitea runs it with the secrets of the repository."),
  danger("azure-pipelines*.y*ml", "Azure runs it with the secrets of the project."),
  danger("bitbucket-pipelines.yml", "Bitbucket runs it with the secrets of the repository."),
  danger("appveyor.y*ml", "AppVeyor runs it with the secrets of the project."),
  danger("cloudbuild.y*ml", "Google Cloud runs it with the rights of the project."),
  danger(".github/dependabot.yml", "Dependabot takes registries and addresses from it."),
  danger("renovate.json*", "Renovate takes registries and commands from it."),
  notice("Dockerfile*", "Docker runs its commands at a build."),
  notice("*.Dockerfile", "Docker runs its commands at a build."),
  notice("Containerfile*", "Podman runs its commands at a build."),
  notice("docker-compose*", "Docker starts what it names, with the mounts and rights it names."),
  notice("compose*.y*ml", "Docker starts what it names, with the mounts and rights it names."),
  notice("*.tf", "Terraform fetches providers and runs the programs it names."),
  notice(".terraformrc", "Terraform takes providers from the places it names."),
  notice("ansible.cfg", "Ansible loads plugins from the places it names."),
  notice("serverless.y*ml", "Serverless loads the plugins it names."),
  notice("skaffold.yaml", "Skaffold runs the hooks and builds in it."),
  notice("Tiltfile", "Tilt runs it.")
];
function danger(pattern, sentence) {
  return { pattern, severity: "danger", sentence };
}
function notice(pattern, sentence, executable) {
  return { pattern, severity: "notice", sentence, ...executable && { executable } };
}

// packages/gateway/src/tiers/workspace/hygiene.ts
var findSensitive = indexGlobs(
  SENSITIVE.map((value) => ({ glob: foldedGlob(`**/${value.pattern}`), value }))
);

// packages/gateway/src/tiers/process/hygiene.ts
var UNSEEN = { path: ".", why: "unseen", ...FINDINGS.unseen };

// packages/gateway/src/tiers/process/warm-boxes.ts
var MOST_KEYS = 4;
var WarmBoxes = class {
  #options;
  /** Per key, the one that was asked for last at the end. */
  #kept = /* @__PURE__ */ new Map();
  /** What is being made, by its key. */
  #making = /* @__PURE__ */ new Map();
  #closing = /* @__PURE__ */ new Set();
  #made = 0;
  #isClosed = false;
  constructor(options) {
    this.#options = options;
  }
  /** A box that still stands; null where there is none. It is the caller's from now on. */
  take(key) {
    const kept = this.#kept.get(key) ?? [];
    for (let each = kept.shift(); each !== void 0; each = kept.shift()) {
      if (!leave(each)) continue;
      return each.box;
    }
    return null;
  }
  /**
   * Makes as many as are missing for this key, one after the other, each with a number of its own. Nobody waits for it;
   * a failure makes none.
   */
  refill(key, make) {
    if (this.#isClosed || this.#options.size === 0) return;
    const kept = this.#kept.get(key) ?? [];
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    this.#forgetOldest();
    if (this.#making.has(key) || kept.length >= this.#options.size) return;
    const filled = this.#fill(key, make).finally(() => this.#making.delete(key));
    this.#making.set(key, filled);
  }
  /** Gives all back, also what is still being made. */
  async close() {
    this.#isClosed = true;
    for (const key of [...this.#kept.keys()]) this.#forget(key);
    await Promise.all(this.#making.values());
    await Promise.all(this.#closing);
  }
  async #fill(key, make) {
    while (!this.#isClosed && this.#isWanted(key)) {
      this.#made += 1;
      const box = await make(this.#made).catch(() => null);
      if (box === null) return;
      if (this.#isClosed || !this.#kept.has(key)) return this.#giveBack(box);
      this.#keep(key, box);
    }
  }
  #isWanted(key) {
    const kept = this.#kept.get(key);
    return kept !== void 0 && kept.length < this.#options.size;
  }
  #keep(key, box) {
    const drop = () => this.#drop(kept);
    const kept = { key, box, timer: setTimeout(drop, this.#options.idleMs), isGone: false };
    kept.timer.unref();
    this.#kept.get(key)?.push(kept);
    if (!("error" in box.child)) void box.child.exited.then(drop);
  }
  /** It got old, or has ended by itself. */
  #drop(kept) {
    if (!leave(kept)) return;
    const others = this.#kept.get(kept.key)?.filter((each) => each !== kept) ?? [];
    if (others.length > 0) this.#kept.set(kept.key, others);
    else this.#kept.delete(kept.key);
    this.#giveBack(kept.box);
  }
  #forgetOldest() {
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEYS && oldest !== void 0) this.#forget(oldest);
  }
  #forget(key) {
    const kept = this.#kept.get(key) ?? [];
    this.#kept.delete(key);
    for (const each of kept) this.#drop(each);
  }
  #giveBack(box) {
    const closing = box.close().catch(() => void 0).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
};
function leave(kept) {
  const wasThere = !kept.isGone;
  kept.isGone = true;
  clearTimeout(kept.timer);
  return wasThere;
}

// bench/command-bed.ts
var clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };
var runAs = process.getuid?.() === 0 ? { uid: 61e3, gid: 61e3 } : null;
var never = () => new AbortController().signal;
var AT_ONCE = 64;
var READY = 2;
async function makeBed(workspace2, launcher) {
  const options = { clock, launchers: [launcher], runAs };
  const [b, c] = await Promise.all([probeB(options), probeC(options)]);
  if (!b.ok || !c.ok) throw new Error(`Cannot measure commands: ${b.ok ? "" : b.why} ${c.ok ? "" : c.why}`);
  const starter = new Starter();
  const queue = () => new LaunchQueue({ width: AT_ONCE, clock });
  const kit = {
    ...{ clock, launcher: b.launcher, runAs, queue: queue(), runs: queue(), makeGroup: () => null },
    start: starter.start.bind(starter),
    closing: new Closings(AT_ONCE)
  };
  const cold = { ...kit, warm: new WarmBoxes({ size: 0, idleMs: 1 }) };
  const warm = { ...kit, warm: new WarmBoxes({ size: READY, idleMs: 6e5 }) };
  const close = async () => {
    await Promise.all([warm.warm.close(), kit.closing.finish()]);
    starter.close();
  };
  return { workspace: workspace2, tiers: { b: b.tier, c: c.tier }, cold, warm, close };
}
function termsOf({ workspace: workspace2 }, { file, args = [], quota = 2 ** 32 }) {
  return {
    executable: file,
    executableSha256: "0".repeat(64),
    argv: [file, ...args],
    ...{ workspace: workspace2, cwd: workspace2, env: {}, stdin: null },
    limits: {
      ...{ wallMs: 6e4, cpuMs: 6e4, memoryBytes: 2 ** 30, outputBytes: quota },
      ...{ fileBytes: 2 ** 28, processes: 128, openFiles: 1024 }
    },
    ...{ egress: "strict", readOnly: [], protectedPaths: [] }
  };
}
async function capture(bed2, tier, command) {
  const terms = termsOf(bed2, command);
  const held = holdWorkspace(bed2.workspace);
  const { box, plan } = await openBox(bed2.cold, tier, { id: "bench", terms, held });
  try {
    return await runInBox(box, { plan, terms }, { signal: never(), clock });
  } finally {
    held.close();
    await box.close();
  }
}

// ../../tmp/cap.ts
var base = mkdtempSync("/var/tmp/palisade-bench-");
chmodSync(base, 457);
var workspace = join(base, "work");
mkdirSync(workspace);
var bed = await makeBed(workspace, "/work/main/packages/launcher/dist/palisade-launcher");
var N = 256 * 1024 * 1024;
for (let i = 0; i < 40; i++) {
  const t = performance.now();
  const e = await capture(bed, bed.tiers.b, { file: "/usr/bin/head", args: ["-c", String(N), "/dev/zero"] });
  if (e.stdout.length !== N) console.log({ ...e, stdout: e.stdout.length, stderr: Buffer.from(e.stderr).toString(), read: Buffer.from(e.read[0]).toString().split("\n").filter((l) => !l.startsWith("fact")).join(";") });
  console.log((N / 1e6 / ((performance.now() - t) / 1e3)).toFixed(0), e.stdout.length === N);
}
await bed.close();
rmSync(base, { recursive: true });
