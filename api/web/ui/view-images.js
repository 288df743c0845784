// The images of the pool, as `pinion image ls` shows them.
import { age, bytes, imageName } from './format.js'
import { now } from './api.js'
import { Facts, Problem, Table, html, useAnswer } from './parts.js'

const most = 4 // hosts that a row names

const digestOf = image => image.digest.replace('sha256:', '').slice(0, 12)
const hostName = (store, id) => (store.hostByID.get(id) || { name: id.slice(0, 12) }).name

// keptWords says that the pool keeps an image, and where.
function keptWords({ kept }) {
  if (!kept) return ''
  return (kept.imported ? 'imported' : 'pinned') + (kept.on ? ' on ' + kept.on : kept.copies ? ' on ' + kept.copies : '')
}

export const linkOf = image => `#/images/${encodeURIComponent(image.name)}`

// useImages asks for the images again now and then: no event tells of them.
export const useImages = store => useAnswer(() => store.client.get('/v1/images'), [Math.floor(now() / 15000)])

export function Images({ store, search }) {
  const { value, problem } = useImages(store)
  if (!value) return problem ? html`<${Problem} of=${problem} />` : html`<p class="hint">...</p>`
  const words = search.toLowerCase().split(/\s+/)
  const found = value.filter(i => words.every(word => [i.name, i.digest, keptWords(i), ...i.hosts.map(id => hostName(store, id))].join(' ').toLowerCase().includes(word)))
  return html`
    <${Problem} of=${problem} />
    <${Table} items=${found} link=${linkOf} keyOf=${i => i.name + ' ' + i.digest} empty="No host has an image." columns=${[
      ['Image', i => imageName(i.name)], ['Digest', digestOf, 'code'], ['Size', i => bytes(i.size), 'number'],
      ['Hosts', i => i.hosts.slice(0, most).map(id => hostName(store, id)).join(', ') + (i.hosts.length > most ? ` and ${i.hosts.length - most} more` : '')], ['Kept', keptWords],
    ]} />`
}

// Image is what the pool has by one name: a tag may mean another image on each host.
export function Image({ store, id }) {
  const { value, problem } = useImages(store)
  if (!value) return problem ? html`<${Problem} of=${problem} />` : html`<p class="hint">...</p>`
  const found = value.filter(i => i.name === id)
  return html`
    <h1>${imageName(id)}</h1>
    ${!found.length && html`<p class="empty">No host has this image, or your key does not see it.</p>`}
    ${found.map(i => html`<section key=${i.digest}><${Facts} of=${[
      ['Digest', html`<span class="code">${i.digest}</span>`], ['Size', bytes(i.size)], ['Kept', keptWords(i)], ['Kept by', i.kept && i.kept.by], ['Since', i.kept && age(i.kept.at) + ' ago'],
      ['Hosts', i.hosts.map((host, n) => html`${n ? ', ' : ''}<a href=${'#/hosts/' + host}>${hostName(store, host)}</a>`)],
    ]} /></section>`)}`
}
