/**
 * The keys of git configuration that a run may leave, each by its exact name: those that git itself and ordinary work
 * write. Every other key counts as dangerous, so that a key that a later git adds is not overlooked. `*` stands for a
 * subsection.
 *
 * A key is here only if its value, within the form of its row, can neither name a program, nor reach one through an
 * alias or a helper of git (`git-remote-X`, `git-merge-X`), nor make git write or trust files elsewhere.
 */

/** An address of a repository, or the name of a remote: git has these transports built in, `X::` and `X://` run git-remote-X. */
const ADDRESS =
  /^(?:(?:https?|ssh|git|file|git\+ssh|ssh\+git):\/\/[ -~\x80-\xff]*|(?:[\w.+~-]+@)?(?:[\w.-]+|\[[\da-fA-F:.]+\]):(?!:|\/\/)[ -~\x80-\xff]*|(?!-)[ -.0-9;-~\x80-\xff]*(?:\/[ -~\x80-\xff]*)?)$/;

export const GIT_KEYS: readonly {
  readonly keys: string;
  /** The form that a value has to have, one character for each byte. */
  readonly values: RegExp;
}[] = [
  {
    keys: `core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase core.precomposeunicode
      core.symlinks core.autocrlf core.eol core.safecrlf core.quotepath core.sparsecheckout core.sparsecheckoutcone
      core.untrackedcache core.preloadindex core.splitindex core.abbrev core.compression core.loosecompression
      core.bigfilethreshold core.checkstat core.trustctime core.commitgraph core.multipackindex core.whitespace
      core.longpaths core.fscache core.fsync core.fsyncmethod core.fsyncobjectfiles core.hidedotfiles
      core.warnambiguousrefs core.usereplacerefs core.filesreflocktimeout core.packedrefstimeout
      core.deltabasecachelimit core.packedgitlimit core.packedgitwindowsize core.maxtreedepth
      extensions.worktreeconfig extensions.preciousobjects extensions.relativeworktrees extensions.noop
      am.keepcr am.threeway apply.ignorewhitespace apply.whitespace
      blame.blankboundary blame.coloring blame.date blame.markignoredlines blame.markunblamablelines blame.showemail
      blame.showroot
      branch.autosetupmerge branch.autosetuprebase branch.sort branch.*.rebase
      checkout.guess checkout.workers checkout.thresholdforparallelism clean.requireforce
      color.advice color.branch color.diff color.grep color.interactive color.pager color.push color.remote
      color.showbranch color.status color.transport color.ui
      column.branch column.clean column.status column.tag column.ui
      commit.gpgsign commit.verbose commit.status commit.cleanup
      commitgraph.generationversion commitgraph.maxnewfilters commitgraph.readchangedpaths commitgraph.changedpathsversion
      diff.algorithm diff.renames diff.renamelimit diff.colormoved diff.colormovedws diff.mnemonicprefix diff.noprefix
      diff.submodule diff.context diff.interhunkcontext diff.wserrorhighlight diff.indentheuristic diff.ignoresubmodules
      diff.relative diff.statgraphwidth diff.statnamewidth diff.suppressblankempty diff.autorefreshindex diff.dirstat
      feature.manyfiles feature.experimental
      fetch.prune fetch.prunetags fetch.recursesubmodules fetch.parallel fetch.writecommitgraph fetch.unpacklimit
      fetch.output fetch.showforcedupdates fetch.negotiationalgorithm fetch.all
      format.signoff format.numbered format.coverletter format.thread format.useautobase
      gc.auto gc.autodetach gc.autopacklimit gc.pruneexpire gc.reflogexpire gc.reflogexpireunreachable
      gc.worktreepruneexpire gc.packrefs gc.aggressivedepth gc.aggressivewindow gc.bigpackthreshold gc.writecommitgraph
      gc.cruftpacks gc.maxcruftsize gc.logexpiry gc.rerereresolved gc.rerereunresolved
      gpg.format
      grep.column grep.linenumber grep.patterntype grep.extendedregexp grep.fullname grep.threads grep.fallbacktonoindex
      http.postbuffer i18n.commitencoding i18n.logoutputencoding
      index.threads index.version index.sparse index.recordendofindexentries index.recordoffsettable index.skiphash
      init.defaultobjectformat
      lfs.repositoryformatversion lfs.*.locksverify lfs.*.access
      log.abbrevcommit log.decorate log.diffmerges log.follow log.mailmap log.showroot log.initialdecorationset
      maintenance.auto maintenance.autodetach maintenance.strategy maintenance.*.enabled maintenance.*.schedule
      maintenance.*.auto
      merge.autostash merge.branchdesc merge.conflictstyle merge.defaulttoupstream merge.directoryrenames merge.ff merge.log
      merge.renamelimit merge.renames merge.renormalize merge.stat merge.verbosity merge.verifysignatures
      pack.threads pack.window pack.windowmemory pack.depth pack.compression pack.deltacachesize pack.deltacachelimit
      pack.packsizelimit pack.usebitmaps pack.usesparse pack.indexversion pack.writebitmaphashcache
      pack.writebitmaplookuptable pack.writereverseindex pack.allowpackreuse pack.usepathwalk
      protocol.version pull.ff pull.rebase
      push.default push.autosetupremote push.followtags push.gpgsign push.recursesubmodules push.useforceifincludes
      push.negotiate push.usebitmaps
      rebase.abbreviatecommands rebase.autosquash rebase.autostash rebase.forkpoint rebase.missingcommitscheck
      rebase.rebasemerges rebase.reschedulefailedexec rebase.stat rebase.updaterefs
      receive.advertiseatomic receive.advertisepushoptions receive.autogc receive.denycurrentbranch
      receive.denydeletecurrent receive.denydeletes receive.denynonfastforwards receive.maxinputsize
      receive.shallowupdate receive.unpacklimit receive.updateserverinfo
      remote.*.mirror remote.*.prune remote.*.prunetags remote.*.skipdefaultupdate remote.*.skipfetchall
      remote.*.promisor remote.*.partialclonefilter remote.*.followremotehead
      rerere.autoupdate rerere.enabled revert.reference sparse.expectfilesoutsideofpatterns
      stash.showincludeuntracked stash.showpatch stash.showstat
      status.aheadbehind status.branch status.displaycommentprefix status.relativepaths status.renamelimit
      status.renames status.short status.showstash status.showuntrackedfiles status.submodulesummary
      submodule.alternateerrorstrategy submodule.alternatelocation submodule.fetchjobs submodule.propagatebranches
      submodule.recurse submodule.*.fetchrecursesubmodules submodule.*.ignore submodule.*.shallow
      tag.forcesignannotated tag.gpgsign tag.sort transfer.advertisesid transfer.unpacklimit
      uploadpack.allowanysha1inwant uploadpack.allowfilter uploadpack.allowreachablesha1inwant
      uploadpack.allowrefinwant uploadpack.allowtipsha1inwant uploadpack.keepalive
      user.useconfigonly versionsort.suffix worktree.guessremote worktree.userelativepaths`,
    values: /^[\w ,.:=+-]*$/,
  },
  {
    // These guard against hostile repositories, where a user has switched them on for all of them.
    keys: 'core.protecthfs core.protectntfs fetch.fsckobjects receive.fsckobjects transfer.fsckobjects',
    values: /^(?:true|yes|on|1)$/i,
  },
  {
    keys: 'extensions.objectformat extensions.compatobjectformat extensions.refstorage',
    values: /^(?:sha1|sha256|files|reftable)$/,
  },
  {
    keys: 'core.sharedrepository',
    values: /^(?:umask|group|all|world|everybody|true|false|[012]|06[046]0)$/,
  },
  { keys: 'core.commentchar', values: /^(?:auto|[!-/:-@[-`{-~])$/ },
  // Colours and hints run nothing whatever their names are.
  { keys: 'color.*.* advice.*', values: /^[\w #-]*$/ },
  {
    keys: 'user.name user.email author.name author.email committer.name committer.email branch.*.description',
    values: /^/,
  },
  { keys: 'user.signingkey', values: /^(?!-)[ -~\x80-\xff]*$/ },
  {
    keys: `remote.*.fetch remote.*.push branch.*.merge submodule.active submodule.*.active submodule.*.branch
      init.defaultbranch remote.*.gh-resolved branch.*.gh-merge-base branch.*.vscode-merge-base
      branch.*.github-pr-owner-number branch.*.github-pr-base-branch`,
    values: /^(?!-)[ -~\x80-\xff]*$/,
  },
  { keys: 'remote.*.tagopt', values: /^--(?:no-)?tags$/ },
  {
    keys: `remote.*.url remote.*.pushurl submodule.*.url branch.*.remote branch.*.pushremote remote.pushdefault
      checkout.defaultremote extensions.partialclone`,
    values: ADDRESS,
  },
  { keys: 'submodule.*.update', values: /^(?:checkout|rebase|merge|none)$/ },
  {
    keys: 'branch.*.mergeoptions',
    values: /^(?: *--(?:no-)?(?:ff|ff-only|squash|commit|edit|stat|log)(?= |$))* *$/,
  },
  // Not %x, which sends any byte to the terminal.
  {
    keys: 'format.pretty',
    values: /^(?:oneline|short|medium|full|fuller|reference|email|raw|t?format:(?!.*%x)[ -~\x80-\xff]*)$/,
  },
  { keys: 'log.date', values: /^(?!.*%x)[ -~\x80-\xff]*$/ },
  // Files of the workspace; git asks nothing of them but patterns and names of commits.
  {
    keys: 'core.excludesfile blame.ignorerevsfile',
    values: /^(?![-~/%:])(?!(?:.*\/)?\.\.(?:\/|$))[ -~\x80-\xff]*$/,
  },
];

/** Commands of git that an alias may stand for. */
export const ALIAS_COMMANDS: ReadonlySet<string> = new Set(
  `add blame branch checkout cherry-pick commit describe diff fetch log merge pull push rebase reflog remote reset restore
  rev-parse shortlog show stash status switch tag`.split(/\s+/),
);

/** Their options that an alias may have; one like `--output`, `--exec` or `--upload-pack` is not here, in no abbreviation. */
const ALIAS_OPTIONS =
  `abbrev abbrev-commit abbrev-ref abort all amend author-date-order autostash branch cached color color-words
  contains continue date date-order decorate ff-only first-parent follow force-with-lease format full-history graph hard
  ignore-all-space ignore-space-change include-untracked interactive keep-index left-right list max-count merged merges
  mixed name-only name-status no-color no-edit no-ff no-merged no-merges numbered numstat oneline patch porcelain pretty
  prune quiet rebase reverse set-upstream short shortstat show-toplevel simplify-by-decoration since soft sort staged stat
  summary tags topo-order unified until untracked-files verbose word-diff`
    .split(/\s+/)
    .join('|');

/** One argument of an alias, without its quotes. */
export const ALIAS_ARGUMENT = new RegExp(
  `^(?:--(?:(?:${ALIAS_OPTIONS})(?:=(?!.*%x).*)?)?|-[ADMPSabdfhilmnpqrsuvw\\d]+|(?!-)(?!.*:[:/])[\\w ./@{}^~,:#]*)$`,
);
