import type { WallWords } from "./words";
import { common } from "./ja/common";
import { shell } from "./ja/shell";
import { wall } from "./ja/wall";
import { why } from "./ja/why";

export const ja: WallWords = { common, shell, wall, why };
