import type { Words } from "../words";

export const views: Words["views"] = {
  none: "このブラウザーに保存したビューはありません。",
  name: "この表示に名前を付けて保存",
  remove: (name) => `「${name}」を削除`,
  hint: "絞り込み、グループ、表示形式はページのアドレスに含まれます。アドレスを送れば、ほかの画面でも同じ表示を開けます。名前はこのブラウザーに保存されます。",
};
