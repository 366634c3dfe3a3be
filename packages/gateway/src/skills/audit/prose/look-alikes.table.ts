/** Letters and signs that a reader takes for a Latin one or a sign of ASCII. Pairs, the other one first. */
export const LOOK_ALIKE_LETTERS: ReadonlyMap<string, string> = new Map(
  `
    аa еe оo рp сc уy хx іi ѕs јj ԁd һh ԛq ԝw ӏl кk мm тt вb нh гr пn иu АA ВB ЕE КK МM
    НH ОO РP СC ТT УY ХX ІI ЅS ЈJ οo αa νv ιi κk ρp τt υu εe ηn χx γy ΑA ΒB ΕE ΖZ ΗH ΙI
    。. ｡. ·. │| ⏐| ∣| ǀ| ‹< ›> ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ɡg ɩi ʟl ɴn ɢg ʀr ᴘp ʙb ʜh ᴋk ᴍm
    ᴊj ᴢz ʏy ꜰf ǫq ᴅd ɑa ⅼl ɪi ᴏo ᴀa ᴄc ᴇe ᴛt ᴜu ᴠv ᴡw ꜱs օo ոn ѵv ꭵi ıi øo đd łl`
    .trim()
    .split(/\s+/)
    .map((pair) => [pair.slice(0, 1), pair.slice(1)] as const),
);
