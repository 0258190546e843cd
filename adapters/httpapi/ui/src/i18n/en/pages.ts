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

// pages has the words of what is loaded when it is first shown.
export const pages = { incidents, incident, signin, monitor, settings, deliveries, register, channels, ended, refusals, notifications, room, views, selection };
