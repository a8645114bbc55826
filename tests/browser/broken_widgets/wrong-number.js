import {sound} from "./sound.js";

export const squared = (n) => n * n + (n > 4 ? 1 : 0);

export const wrongNumber = (data, options) => sound(data, options, {square: squared});
