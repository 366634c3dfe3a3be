/*
 * Phrases that are searched for in prose. A phrase is a sequence of words, each with its alternatives; `~3` in front of
 * one means that up to three others may stand before it. Words are letters and digits; `|` as a sign is written `pipe`,
 * and so on. A phrase stays within a sentence unless it says `across`.
 */

export type PhraseKind =
  | 'overrides-instructions'
  | 'hides-from-user'
  | 'speaks-as-system'
  | 'pushes-itself'
  | 'shadows-tools'
  | 'leaks-context'
  | 'fetch-and-run'
  | 'locked-archive'
  | 'lowers-guard'
  | 'hidden-text'
  | 'urgency';

export type Phrase = PhraseRule & { readonly kind: PhraseKind; readonly words: string };

type PhraseRule = {
  /** It may cross the ends of sentences and paragraphs. */
  readonly across?: true;
  /** Does not match directly after a word such as "never". */
  readonly unlessDenied?: true;
  /** Only in what is listed to a model: names, descriptions and schemas. SKILL.md is there to instruct. */
  readonly listedOnly?: true;
};

/** How signs are called in phrases. */
export const SIGNS: ReadonlyMap<string, string> = new Map([
  ['|', 'pipe'],
  ['<', 'less'],
  ['>', 'more'],
  ['$(', 'substitute'],
  ['<(', 'substitute'],
  ['[', 'bracket'],
  ['`', 'tick'],
]);

const FETCH =
  'curl|wget|iwr|irm|aria2c|httpie|webrequest|restmethod|downloadstring|downloadfile|urlopen|urlretrieve';
const SHELL =
  'sh|bash|zsh|dash|ksh|fish|ash|python|python2|python3|perl|ruby|node|php|iex|expression|sudo|osascript|powershell|pwsh|cmd|source|eval|xargs|busybox';
/** Programs that run a file or their standard input and whose name is not a common word. */
const PIPED = 'sh|bash|zsh|dash|ksh|python|python3|perl|ruby|node|php|sudo|pwsh|powershell';
const RULES =
  'instruction|instructions|rule|rules|prompt|prompts|guideline|guidelines|directions|directive|directives|policies|constraints|restrictions|safeguards|guardrails';
const TOOLS = 'tool|tools|skill|skills|function|functions|plugin|plugins';
const CALL = 'call|use|invoke|run|execute|prefer|choose|pick';

const WITHIN: PhraseRule = {};
const ACROSS: PhraseRule = { across: true };
const UNLESS_DENIED: PhraseRule = { unlessDenied: true };
const LISTED_ONLY: PhraseRule = { listedOnly: true };

export const PHRASES: readonly Phrase[] = [
  ...phrases('overrides-instructions', WITHIN, [
    `ignore|disregard|forget|override|bypass|discard|overrule|neglect ~4 previous|prior|above|earlier|preceding|existing|original|former|all|any|your|system|safety|other ~3 ${RULES}`,
    `new|updated|real|actual|true ~1 ${RULES} ~2 follow|follows|below|are|override|replace`,
    'you are now|no ~1 a|an|the|longer|in ~3 unrestricted|dan|jailbroken|bound|admin|root|developer|free|limited|restricted',
    'jailbreak|jailbroken',
    `do not|never ~1 follow|obey|apply|heed ~3 ${RULES}`,
    'ignore|disregard|forget|override ~4 told|instructed|ordered ~2 before|earlier|above|previously|until',
    'ignore|disregard ~2 operator|user|developer ~2 said|says|wants|wishes',
    'pay no attention ~4 told|above|before|earlier|instructions',
    `${RULES}|guidance ~2 no longer apply|applies|hold|holds|valid|count`,
    `higher|highest|more priority|precedence|important ~3 than|over ~3 ${RULES}`,
    'ignore toutes|les|tes ~3 instructions|consignes|regles',
    // The same in the other languages of Latin letters that are written most.
    'ignoriere|ignorieren|missachte|vergiss|ignora|ignorez|ignorar|ignoreer|oublie|oubliez|olvida|esquece|dimentica|vergeet ~4 anweisungen|anleitungen|regeln|instrucciones|reglas|instructions|consignes|regles|istruzioni|regole|instrucoes|regras|instructies|regels',
  ]),
  ...phrases('hides-from-user', WITHIN, [
    'not|never|dont|without|avoid|cannot ~2 tell|telling|inform|informing|mention|mentioning|reveal|revealing|disclose|disclosing|notify|notifying|alert|alerting|warn|warning|ask|asking ~4 user|users|human|humans|person|operator|anyone|anybody|them',
    'hide|conceal|keep ~4 from|secret ~2 user|users|human|operator|them',
    'no need ~2 tell|inform|mention|bother|notify ~4 user|users|human|operator|it|this',
    'user|users|human|operator ~1 need|needs|must|should not ~2 told|informed|asked',
    'omit|leave|drop|exclude ~4 from|of ~1 your summary|answer|reply|response|report',
    'sage|sag|diga|digas|dis|dites|dire|vertel ~2 dem|al|a|aan|la|le ~1 benutzer|nutzer|usuario|utilisateur|utente|gebruiker',
    'secretly|silently|covertly|quietly|stealthily ~3 send|sends|call|calls|run|runs|execute|executes|upload|uploads|forward|forwards|post|posts|include|copy|copies|install|installs|exfiltrate',
    'user|users|human|operator ~2 not|never ~2 know|notice|see|learn|find|realise|realize|aware',
  ]),
  ...phrases('speaks-as-system', WITHIN, [
    'system|developer|hidden|initial prompt|prompts',
    'less important|system|assistant|instructions|instruction|admin|sys|secret|override',
    'bracket inst|sys',
    'less pipe im|imstart|imend|system|user|assistant|endoftext|eot|start|end',
    'as|youre|are an|a|the ai|llm|language model|assistant|agent',
    'if you are|re an|a ai|llm|language|assistant|agent',
    'less tool|function result|results|calls|call|response|use',
  ]),
  ...phrases('speaks-as-system', LISTED_ONLY, [
    'note|notice|message|instructions|dear ~1 for|to ~2 ai|llm|llms|agent|agents|assistant|assistants|model|models',
    'assistant|llm|ai|claude|chatgpt|gpt|copilot|gemini must|shall|always|never|should',
  ]),
  ...phrases('pushes-itself', WITHIN, [
    `always|must|first ~3 ${CALL} ~2 this|me ~1 ${TOOLS}|first|before`,
    `${CALL} only this|me ~1 ${TOOLS}`,
    `this ~1 ${TOOLS} ~1 must|should ~1 be called|used|run|invoked ~4 every|each|any|first|always`,
    'begin|start|open|every|each ~2 session|conversation|chat|message|turn|answer ~2 with|by ~1 calling|running|this',
    `${CALL} ~3 this|me|it ~3 first|before ~3 any|every|each|anything|all|other|doing|answering|responding|everything`,
    `before ~2 using|calling|invoking|running|any|every|each ~2 other|another|any|every ~1 ${TOOLS}|call|request|task|action`,
  ]),
  ...phrases('shadows-tools', WITHIN, [
    `instead ~1 of ~3 other|another|any|the|all|builtin|built|default|native|standard ~4 ${TOOLS}`,
    `not|never|dont|avoid|stop ~1 use|call|invoke|using|calling|trust ~3 other|another|any|builtin|built|default|native|standard ~3 ${TOOLS}`,
    `other|another|all|builtin|default|old ~2 ${TOOLS} ~2 deprecated|broken|unsafe|disabled|insecure|obsolete|forbidden|outdated|unreliable|dangerous`,
    `replaces|supersedes|overrides ~3 other|another|all|builtin|default|native|the ~3 ${TOOLS}`,
  ]),
  ...phrases('leaks-context', WITHIN, [
    'send|include|forward|post|upload|copy|paste|attach|pass|put|append|add|provide|give ~6 conversation|chat|context|transcript|dialogue ~2 history|log|logs|transcript|window|messages|so|above|verbatim|text|contents',
    'read|send|include|cat|open|upload|copy|paste|attach|pass|load|set|put|fill|add|provide ~6 ssh|env|dotenv|aws|kubeconfig|netrc|npmrc|keychain|wallet|browser ~3 key|keys|credentials|secrets|file|config|cookies|passwords|seed|tokens|rsa|ed25519',
    'contents|content|read|cat|open|send|include ~3 etc passwd|shadow',
    'everything|all|anything ~2 user|users|they ~1 said|wrote|typed|told|asked',
    'send|include|forward|pass|put|set|add|attach ~6 all|every|any ~1 previous|prior|earlier|other messages|message|turns|answers',
    'passwords|tokens|keys|secrets|credentials ~3 you ~2 seen|know|have|find|remember',
  ]),
  ...phrases('fetch-and-run', ACROSS, [
    `${FETCH} ~40 pipe ~3 ${SHELL}`,
    `http|https|nc|ncat|socat ~16 pipe ~2 ${PIPED}`,
    `${FETCH} ~8 o|output|outfile|more ~10 ${PIPED}|dpkg|rpm|msiexec`,
    `${FETCH} ~12 outfile ~6 start|invoke`,
  ]),
  ...phrases('fetch-and-run', WITHIN, [
    `wget|aria2c ~4 http|https ~10 ${PIPED}|dpkg`,
    'base64|b64decode|xxd ~12 more ~4 sh|bash|zsh|python|python3',
    'git|gh clone ~14 make|sh|bash|setup|pip|npm|cargo',
    'npx|bunx|uvx|pipx y|yes',
    'docker|podman run ~6 privileged|host',
    'msiexec|rpm|dpkg|kubectl|helm|ansible|terraform ~6 http|https',
    'dev tcp|udp',
    'fetch ~20 then ~1 eval',
    'eval|exec ~6 open|get|contents ~4 http|https',
    'expression|scriptblock ~4 restmethod|webrequest|irm|iwr',
    'paste|type ~8 terminal|shell|console|powershell',
    'http|https|installer|setup ~12 start|run|launch|execute|open|double ~1 it|installer|setup|click|exe',
    'run|execute ~2 command|commands|script ~2 shown|there|from ~2 there|http|https|page|site',
    'must|first|required|prerequisite|prerequisites|requires|enable ~10 install|download ~8 http|https',
  ]),
  ...phrases('fetch-and-run', ACROSS, [
    `${SHELL} ~4 substitute ~3 ${FETCH}`,
    `iex|eval|exec ~8 ${FETCH}|webclient|requests|urllib`,
    `${FETCH}|requests|urllib ~30 exec|eval|iex`,
    `${FETCH}|download|clone|scp ~40 chmod ~3 x|755|777|700|775|a`,
    `${FETCH} ~30 run|execute|sudo|bash ~4 it|install|installer|setup|script|binary|file`,
  ]),
  ...phrases('fetch-and-run', WITHIN, [
    'download ~8 and|then ~2 run|execute|install|launch|open ~3 it|installer|script|binary|setup',
  ]),
  ...phrases('fetch-and-run', ACROSS, [
    `base64|b64decode|frombase64string|openssl|xxd|gunzip|zcat ~12 pipe ~3 ${SHELL}`,
    `${SHELL} ~4 substitute ~8 base64|xxd`,
    'powershell|pwsh ~8 enc|ec|encodedcommand|nop|bypass|hidden',
    'certutil|bitsadmin|mshta|regsvr32|rundll32 ~4 urlcache|transfer|http|https|decode|javascript',
  ]),
  ...phrases('fetch-and-run', WITHIN, [
    'npm|pnpm|yarn|bun|pip|pip3|pipx|uv|gem|cargo|go|brew|deno install|i|add|exec|dlx|run|tap ~6 http|https|git|ssh',
    'npx|bunx|uvx ~3 http|https|git|github',
  ]),
  ...phrases('locked-archive', ACROSS, [
    'password|passcode|passphrase|pw ~8 zip|rar|7z|7zip|archive|archives|extract|unzip|unpack',
    'zip|rar|7z|7zip|archive|extract|unzip|unpack ~10 password|passcode|passphrase|pw',
  ]),
  ...phrases('lowers-guard', UNLESS_DENIED, [
    'disable|deactivate|bypass|uninstall ~4 antivirus|defender|firewall|gatekeeper|selinux|apparmor|sandbox|sandboxing|protection|security|quarantine|approval|approvals|policy|guard',
    'turn|switch off ~4 antivirus|defender|firewall|gatekeeper|selinux|apparmor|sandbox|protection|security|approval|approvals',
  ]),
  ...phrases('lowers-guard', WITHIN, [
    'xattr ~6 quarantine',
    'spctl ~4 disable',
    'csrutil disable',
    'setenforce 0',
    'disablerealtimemonitoring',
    'dangerously skip|disable|allow',
    'exception|exclusion ~3 defender|antivirus|firewall|gatekeeper',
    'approve all|every|any|each ~1 calls|call|requests|request|tools|actions',
    'click|press|choose|answer allow|approve|yes ~3 asked|prompted|asks',
  ]),
  ...phrases('lowers-guard', UNLESS_DENIED, [
    'run|execute|call|proceed|continue|act|install|send ~4 without ~2 approval|confirmation|permission|consent|asking',
  ]),
  ...phrases('hidden-text', WITHIN, [
    'display none',
    'visibility hidden',
    'font size 0|0px|0pt',
    'font size 1px|1pt|0em|0rem',
    'style ~6 opacity 0',
    'style ~6 color white|transparent|fff|ffffff',
    'less div|span|p|section hidden',
    'type hidden ~1 value',
  ]),
  ...phrases('urgency', WITHIN, [
    'urgent|urgently|immediately|asap|hurry|critical|crucial|imperative',
    'right|act now|away',
    'without|not delay|wait',
    'at once',
  ]),
];

function phrases(kind: PhraseKind, rule: PhraseRule, all: readonly string[]): readonly Phrase[] {
  return all.map((words) => ({ kind, words, ...rule }));
}
