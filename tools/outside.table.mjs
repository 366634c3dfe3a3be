/**
 * Who may touch the world outside the program. A row names a power by its modules and its global members, says why it
 * is restricted, and lists its users, each with its reason. Places are modules of packages/gateway/src unless they
 * begin with `packages/`. A power without users is used nowhere.
 */
export const OUTSIDE = [
  {
    power: 'child processes',
    why: 'Every process starts from one plan and ends in one kill of its whole tree, so there is one place to audit.',
    modules: ['node:child_process', 'node:cluster'],
    members: [],
    hands: {
      'tiers/child': 'It is the one place where a plan becomes a process.',
      'notify/desktop.ts':
        'It shows a notice by the program of the desktop, with texts as arguments and no shell.',
      'doors/cli/service/manager.ts':
        'It asks the manager of services of the machine, when an operator installs or removes one: fixed words, no shell.',
    },
  },
  {
    power: 'threads',
    why: 'A thread shares the address space of the gateway, so only the tier that meters what runs in it makes one.',
    modules: ['node:worker_threads'],
    members: ['Worker'],
    hands: { 'tiers/a-wasm': 'A guest that does not end must be stoppable from another thread.' },
  },
  {
    power: 'the network',
    why: 'A connection that does not pass the allow-list of egress is a way out for secrets.',
    modules: [
      'node:net',
      'node:http',
      'node:https',
      'node:http2',
      'node:tls',
      'node:dgram',
      'node:dns',
      'node:inspector',
    ],
    members: ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest', 'WebTransport'],
    hands: {
      egress: 'It checks the host, resolves it once and connects to the address it checked.',
      'doors/http': 'It listens for callers.',
      'channels/socket-carrier.ts':
        'It listens on a socket in the state directory, which only its owner can open, for other processes of the owner.',
      'channels/peer.ts': 'It connects to such a socket, and to nothing else.',
      'tiers/child/starter.ts':
        'Node reads and writes a pipe that is open already as a socket; it is connected to nothing.',
      'tiers/child/child.ts': 'The same of a pipe that did not take all at once.',
      'tiers/child/starter-protocol.ts':
        'It takes the listeners of a run from the starter, and hands them on to its proxy.',
      'tiers/child/handed-sockets.ts':
        'It takes the connections into the network of a run from the starter, and hands them on to its ports.',
      'tiers/network/ports.ts':
        'It listens on loopback for the ports that a run was granted, and joins what connects with the run.',
      cluster: 'It talks to the worker nodes the operator named.',
      'packages/sdk/src/client': 'It calls the gateway its user named.',
    },
  },
  {
    power: 'the environment',
    why: 'What configures the program has one reader, so that it can be listed, checked and explained.',
    modules: [],
    members: ['process.env', 'process.loadEnvFile'],
    hands: { config: 'It is the one reader of configuration.' },
  },
  {
    power: 'clock and randomness',
    why: 'They are made once and handed down, so that every other module can be tested to the millisecond and the byte.',
    modules: [],
    members: [
      'Date.now',
      'Temporal.Now',
      'performance.now',
      'performance.timeOrigin',
      'process.hrtime',
      'process.uptime',
      'Math.random',
      'crypto.randomUUID',
      'crypto.randomBytes',
      'crypto.randomInt',
      'crypto.randomFill',
      'crypto.randomFillSync',
      'crypto.getRandomValues',
    ],
    constructs: ['Date'],
    hands: {
      'open.ts': 'It builds everything, the clock and the source of randomness included.',
      'main.ts': 'It does for a command what the daemon does for the service.',
      'packages/sdk/src/client/connection.ts':
        'It makes the keys of calls and spreads repeats unless it is handed another source.',
      'packages/wasm/src/instance/engine.ts':
        'It reads the clock of its host for deadlines unless it is handed another.',
    },
  },
  {
    power: 'files',
    why: 'A module that does not read or write files cannot be tricked into the wrong one.',
    modules: ['node:fs', 'node:fs/promises'],
    members: [],
    hands: {
      config: 'It reads the configuration file.',
      store: 'It opens the database and holds the state folder.',
      'channels/channel-folder.ts':
        'It keeps the files that name the channels of processes, in the state folder.',
      'channels/socket-carrier.ts': 'It keeps the sockets of processes there.',
      policy: 'It reads the policy files of the operator.',
      attest: 'It keeps the signing key in a file only its owner can read.',
      journal: 'It writes exports and checkpoints.',
      vault: 'It keeps the sealed secrets and their key file.',
      skills: 'It reads archives and keeps the unpacked artifacts.',
      packages: 'It keeps the files of fetched packages, and compares them with their digests.',
      runner:
        'It looks at the program, the workspace and the paths that a command names, and writes nothing.',
      'tiers/cgroup': 'The control groups of the kernel are files.',
      'tiers/a-wasm/engine/pipe.ts':
        'In an engine process it reads and writes the two pipes that it was started with, and opens nothing.',
      'tiers/child/starter.ts': 'It opens the pipes of a run where the starter has them.',
      'tiers/child/child.ts': 'It writes to such a pipe, and closes it.',
      'tiers/process':
        'It holds the workspace and the launcher of a run open, and looks at what the machine has.',
      'tiers/workspace':
        'It lists what a run changed and restores protected files, without following a link; what it sets aside goes to the quarantine, and the copies of runs to a folder of the state.',
      'tiers/undo':
        'It copies files of a workspace to a folder of the state before a run, and puts them back for an undo, without following a link.',
      doors: 'The commands read and write the files their user names.',
      'open.ts': 'It makes the folders that modules keep their files in.',
      start: 'It reads the packs of the program and their code cache, and writes that.',
    },
  },
  {
    power: 'the end of the process',
    why: 'A library that ends the process takes the journal entry of the call with it.',
    modules: [],
    members: ['process.exit', 'process.reallyExit', 'process.abort'],
    hands: { 'main.ts': 'A command ends with the exit status of its code.' },
  },
  {
    power: 'modules by the back door',
    why: 'An import that these tables cannot see is not held by them.',
    modules: ['node:module'],
    members: ['process.getBuiltinModule', 'process.binding', 'process.dlopen'],
    hands: {
      'policy/cedar.ts': 'A crashed evaluator is replaced by a fresh one, which a plain import cannot give.',
      'start/packs.ts': 'What packs import from outside is loaded as if they were modules.',
    },
  },
  {
    power: 'code made from text',
    why: 'Text must never become code here.',
    modules: ['node:vm', 'node:repl'],
    members: ['eval'],
    constructs: ['Function'],
    hands: {
      'start/packs.ts': 'It compiles the packs of the program, which is what Node does with modules.',
    },
  },
];

/** Globals whose members are powers: using one as a value would hide which member is meant. */
export const MODULES_AS_GLOBALS = {
  'node:process': 'process',
  'node:crypto': 'crypto',
  'node:perf_hooks': 'globalThis',
};
