import type { PageWords } from "../words";
import { incidents } from "./incidents";
import { incident } from "./incident";
import { signin } from "./signin";
import { notifications } from "./notifications";
import { monitor } from "./monitor";
import { deliveries } from "./deliveries";
import { register } from "./register";
import { settings } from "./settings";
import { channels } from "./channels";
import { ended } from "./ended";
import { room } from "./room";
import { refusals } from "./refusals";
import { views } from "./views";
import { selection } from "./selection";

export const pages: PageWords = { incidents, incident, signin, monitor, settings, deliveries, register, channels, ended, refusals, notifications, room, views, selection };
