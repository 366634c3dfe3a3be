/* What palisade makes in its state directory. `uninstall` removes these and nothing else; what an operator wrote or edited stays. */

/** Files and folders that are palisade's own, by their names or the beginning of their names. */
export const STATE_FILES: readonly { readonly name: RegExp; readonly what: string }[] = [
  { name: /^palisade\.db(-wal|-shm)?$/, what: 'The database: journal, approvals, budgets, tokens, secrets.' },
  { name: /^palisade\.db\.restored\.new$/, what: 'A half-restored backup.' },
  { name: /^keys$/, what: 'Signing keys and the key of the vault.' },
  { name: /^journal$/, what: 'Sealed segments of the journal.' },
  { name: /^backups$/, what: 'Copies of the database from before upgrades.' },
  { name: /^upgrade-check-\w+$/, what: 'A copy of a check that was killed.' },
  { name: /^instances$/, what: 'The locks of processes.' },
  { name: /^channels$/, what: 'The sockets of processes.' },
  { name: /^daemon\.(lock|json)$/, what: 'The lock and the address of the daemon.' },
  { name: /^palisade\.sock$/, what: 'The local socket of the daemon.' },
  { name: /^service\.log$/, what: 'The log of the service on macOS.' },
  { name: /^skills$/, what: 'Installed packages of skills.' },
  { name: /^modules$/, what: 'Metered modules.' },
  { name: /^code$/, what: 'Compiled code of palisade.' },
  { name: /^programs$/, what: 'What the programs of the sandboxes said of themselves.' },
  { name: /^packages$/, what: 'Fetched packages of MCP servers.' },
  { name: /^running$/, what: 'Notes about runs, for the case of a crash.' },
  { name: /^undo$/, what: 'Copies of what commands changed.' },
];
