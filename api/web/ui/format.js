// What is shown, as words.
import { now } from './api.js'

export const idOf = arn => (arn || '').split('/').pop()
export const shortID = id => (id || '').slice(0, 12)

// nameOf is family:revision of the ARN of a task definition.
export const nameOf = idOf

// millis is a time as the API has it: seconds since 1970, or a text.
export const millis = time => typeof time === 'number' ? time * 1000 : Date.parse(time)

export function age(time) {
  if (!time) return ''
  return span(now() - millis(time))
}

export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return seconds + 's'
  if (seconds < 3600) return Math.floor(seconds / 60) + 'm'
  if (seconds < 48 * 3600) return Math.floor(seconds / 3600) + 'h'
  return Math.floor(seconds / 86400) + 'd'
}

// clock is a time of today, or a time with its day.
export function clock(time) {
  const at = new Date(millis(time))
  return at.toDateString() === new Date(now()).toDateString() ? at.toLocaleTimeString() : at.toLocaleString()
}

export function mib(n) {
  if (n >= 1 << 20) return (n / (1 << 20)).toFixed(1) + ' TiB'
  if (n >= 1024) return (n / 1024).toFixed(n >= 10240 ? 0 : 1) + ' GiB'
  return Math.round(n) + ' MiB'
}

// bytes is a number of bytes, as registries count them.
export function bytes(n) {
  for (const [unit, size] of [['TB', 1e12], ['GB', 1e9], ['MB', 1e6], ['kB', 1e3]]) if (n >= size) return (n / size).toFixed(n < 10 * size ? 1 : 0) + ' ' + unit
  return n + ' B'
}

// imageName is the name of an image as people write it.
export const imageName = name => name.replace(/^docker\.io\/(library\/)?/, '')

// gpusOf is how many GPUs a task has, or asks for while it waits.
export function gpusOf(task) {
  const has = new Set((task.containers || []).flatMap(c => c.gpuIds || []))
  if (has.size) return has.size
  return Number(attribute(task, 'pinion.gpus')) || 0
}

export const attribute = (task, name) => ((task.attributes || []).find(a => a.name === name) || {}).value

// plural is a number with its noun.
export const plural = (n, noun) => n + ' ' + noun + (n === 1 ? '' : 's')

// hueOf is a colour of its own for a word: a team, a task.
export function hueOf(word) {
  let n = 0
  for (const c of word) n = (n * 31 + c.charCodeAt(0)) >>> 0
  return n % 360
}
