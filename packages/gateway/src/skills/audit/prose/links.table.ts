/** Hosts where anyone can publish pages anonymously, or that redirect elsewhere. A name includes its subdomains. */
export const DOUBTFUL_HOSTS: ReadonlyMap<string, string> = new Map([
  ...hosts(
    'a site where anybody pastes texts',
    `
      pastebin.com paste.ee hastebin.com ghostbin.com rentry.co rentry.org dpaste.com dpaste.org
      termbin.com ix.io 0x0.st controlc.com privatebin.net glot.io telegra.ph justpaste.it paste.rs bpa.st
      sprunge.us paste.gg textbin.net pastes.io cl1p.net gist.github.com gist.githubusercontent.com`,
  ),
  ...hosts(
    'a site where anybody leaves files',
    `
      transfer.sh file.io gofile.io anonfiles.com catbox.moe tmpfiles.org wetransfer.com mediafire.com
      mega.nz sendspace.com cdn.discordapp.com pixeldrain.com temp.sh drive.google.com dropbox.com 1drv.ms
      ipfs.io workupload.com onion`,
  ),
  ...hosts(
    'a site that hides where a link leads',
    `
      bit.ly tinyurl.com t.co goo.gl is.gd v.gd cutt.ly rb.gy ow.ly shorturl.at t.ly buff.ly rebrand.ly
      tiny.cc bl.ink lnkd.in qrco.de s.id shorte.st adf.ly nip.io sslip.io`,
  ),
  ...hosts(
    'a site that collects what is sent to it',
    `
      webhook.site requestbin.com pipedream.net beeceptor.com requestcatcher.com oast.fun oast.pro
      oast.live interact.sh burpcollaborator.net ngrok.io ngrok.app ngrok-free.app trycloudflare.com
      serveo.net localtunnel.me loca.lt hookbin.com dnslog.cn`,
  ),
]);

function hosts(why: string, names: string): readonly (readonly [host: string, why: string])[] {
  return names
    .trim()
    .split(/\s+/)
    .map((host) => [host, why]);
}
