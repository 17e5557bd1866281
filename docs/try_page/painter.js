// WebGL: shaded shapes, the ground with its grid, and the soft shadow on it.

import { IDENTITY } from "./matrices.js";

const SHADOW_SIZE = 512; // [px] of the picture of the shadow
const BLUR_SIZE = 256; // [px] of the same picture, blurred
const BLUR_RADIUS_M = 0.03;
const GROUND_EXTENT = 2.4; // [m] of the ground that is drawn, on each side of the origin
const MAX_PIXEL_RATIO = 2; // more pixels cost time and are hardly seen
export const LIGHT = [0.35, 0.85, 0.4]; // direction towards the light

const SHAPE_VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
uniform mat4 model, camera;
out vec3 worldPoint, worldNormal;
void main() {
  vec4 world = model * vec4(position, 1.0);
  worldPoint = world.xyz;
  worldNormal = mat3(model) * normal;
  gl_Position = camera * world;
}`;

const SHAPE_FRAGMENT = `#version 300 es
precision highp float;
in vec3 worldPoint, worldNormal;
uniform vec4 colour;
uniform vec3 eye, light;
uniform float gloss, flatness;
out vec4 pixel;
void main() {
  vec3 view = normalize(eye - worldPoint);
  vec3 normal = normalize(worldNormal);
  if (dot(normal, view) < 0.0) normal = -normal;
  vec3 towards = normalize(light);
  float day = 0.5 + 0.5 * normal.y;
  float key = max(0.0, dot(normal, towards) * 0.8 + 0.2);
  float shine = pow(max(0.0, dot(normal, normalize(towards + view))), 48.0);
  float rim = pow(1.0 - max(0.0, dot(normal, view)), 3.0);
  vec3 linear = pow(colour.rgb, vec3(2.2));
  vec3 lit = linear * (mix(vec3(0.20, 0.20, 0.23), vec3(0.46, 0.48, 0.52), day) + 0.72 * key);
  lit += gloss * (0.28 * shine + 0.16 * rim);
  lit = mix(lit, linear, flatness);
  pixel = vec4(pow(lit, vec3(1.0 / 2.2)) * colour.a, colour.a);
}`;

const SHADOW_VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
uniform mat4 model;
uniform vec3 light;
uniform float extent;
void main() {
  vec3 world = (model * vec4(position, 1.0)).xyz;
  vec3 ground = world - light * (world.y / light.y);
  gl_Position = vec4(ground.x / extent, ground.z / extent, world.y < -0.001 ? 2.0 : 0.0, 1.0);
}`;

const SHADOW_FRAGMENT = `#version 300 es
precision mediump float;
out vec4 pixel;
void main() { pixel = vec4(1.0); }`;

const BLUR_VERTEX = `#version 300 es
out vec2 place;
void main() {
  place = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  gl_Position = vec4(place * 2.0 - 1.0, 0.0, 1.0);
}`;

const BLUR_FRAGMENT = `#version 300 es
precision highp float;
in vec2 place;
uniform float radius;
uniform sampler2D shadow;
out vec4 pixel;
void main() {
  float dark = 0.0;
  for (int i = 0; i < 24; i++) {  // a spiral of samples
    float angle = 2.39996 * float(i);
    dark += texture(shadow, place + radius * sqrt((float(i) + 0.5) / 24.0) * vec2(cos(angle), sin(angle))).r;
  }
  pixel = vec4(dark / 24.0);
}`;

const GROUND_VERTEX = `#version 300 es
uniform mat4 camera;
uniform float extent;
out vec2 place;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
  place = corner * extent;
  gl_Position = camera * vec4(place.x, 0.0, place.y, 1.0);
}`;

const GROUND_FRAGMENT = `#version 300 es
precision highp float;
in vec2 place;
uniform vec3 gridColour;
uniform float extent, shadowStrength, gridStrength;
uniform sampler2D shadow;
out vec4 pixel;
float drawLines(float spacing) {
  vec2 cell = place / spacing, width = fwidth(cell);
  vec2 lines = 1.0 - smoothstep(vec2(0.0), 1.4 * width, abs(fract(cell - 0.5) - 0.5));
  return max(lines.x, lines.y) * clamp(0.35 / max(width.x, width.y), 0.0, 1.0);
}
void main() {
  float fade = 1.0 - smoothstep(0.35, 1.0, length(place) / extent);
  float lines = max(0.45 * drawLines(0.1), drawLines(0.5)) * gridStrength;
  float dark = shadowStrength * texture(shadow, place / extent * 0.5 + 0.5).r;
  float alpha = fade * (dark + (1.0 - dark) * lines);
  vec3 colour = gridColour * lines * (1.0 - dark);
  pixel = vec4(colour * fade, alpha);
}`;

/** Painter on a canvas. Shapes are uploaded once and drawn by their numbers. */
export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: true, premultipliedAlpha: true });
    if (!gl) throw new Error("This browser draws no WebGL 2, which the picture needs.");
    this.gl = gl;
    this.shapeProgram = this.#link(SHAPE_VERTEX, SHAPE_FRAGMENT);
    this.shadowProgram = this.#link(SHADOW_VERTEX, SHADOW_FRAGMENT);
    this.groundProgram = this.#link(GROUND_VERTEX, GROUND_FRAGMENT);
    this.blurProgram = this.#link(BLUR_VERTEX, BLUR_FRAGMENT);
    this.noArray = gl.createVertexArray(); // of shapes whose corners are numbered only
    this.shadow = this.#makePicture(SHADOW_SIZE);
    this.blurred = this.#makePicture(BLUR_SIZE);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  #link(vertexText, fragmentText) {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [type, text] of [
      [gl.VERTEX_SHADER, vertexText],
      [gl.FRAGMENT_SHADER, fragmentText],
    ]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const places = {};
    for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
      const { name } = gl.getActiveUniform(program, i);
      places[name] = gl.getUniformLocation(program, name);
    }
    return { program, places };
  }

  /** Make a picture of one number a pixel, to draw in and to read. */
  #makePicture(size) {
    const { gl } = this;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8, size, size, 0, gl.RED, gl.UNSIGNED_BYTE, null);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
    const frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return { texture, frame, size };
  }

  /** Upload a shape. */
  upload(shape) {
    const { gl } = this;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, shape, gl.STATIC_DRAW);
    for (const i of [0, 1]) {
      gl.enableVertexAttribArray(i);
      gl.vertexAttribPointer(i, 3, gl.FLOAT, false, 24, 12 * i);
    }
    return { array, count: shape.length / 6 };
  }

  /** Fit the canvas to its size on the page. */
  resize() {
    const ratio = Math.min(globalThis.devicePixelRatio || 1, MAX_PIXEL_RATIO);
    this.canvas.width = Math.max(Math.round(this.canvas.clientWidth * ratio), 1);
    this.canvas.height = Math.max(Math.round(this.canvas.clientHeight * ratio), 1);
  }

  /** Draw parts {shape, matrix, colour, alpha, gloss, flat, shadowless} on the ground. */
  draw(camera, parts, theme) {
    const { gl } = this;
    this.#drawShadow(parts.filter((part) => !part.shadowless));
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.#drawGround(camera, theme);
    gl.enable(gl.DEPTH_TEST);
    const { program, places } = this.shapeProgram;
    gl.useProgram(program);
    gl.uniformMatrix4fv(places.camera, false, camera.matrix);
    gl.uniform3fv(places.eye, camera.eye);
    gl.uniform3fv(places.light, LIGHT);
    const isClear = ({ alpha = 1 }) => alpha < 1;
    for (const part of [...parts.filter((each) => !isClear(each)), ...parts.filter(isClear)]) {
      gl.depthMask(!isClear(part));
      gl.uniform4f(places.colour, ...part.colour, part.alpha ?? 1);
      gl.uniform1f(places.gloss, part.gloss ?? 0.6);
      gl.uniform1f(places.flatness, part.flat ?? 0);
      this.#drawShape(part, places);
    }
    gl.depthMask(true);
    gl.disable(gl.DEPTH_TEST);
  }

  #drawShape({ shape, matrix = IDENTITY }, places) {
    this.gl.uniformMatrix4fv(places.model, false, matrix);
    this.gl.bindVertexArray(shape.array);
    this.gl.drawArrays(this.gl.TRIANGLES, 0, shape.count);
  }

  /** Draw the shadow from above, and blur it once for all pixels of the ground. */
  #drawShadow(parts) {
    const { gl } = this;
    const { program, places } = this.shadowProgram;
    this.#open(this.shadow);
    gl.useProgram(program);
    gl.uniform3fv(places.light, LIGHT);
    gl.uniform1f(places.extent, GROUND_EXTENT);
    for (const part of parts) this.#drawShape(part, places);
    this.#open(this.blurred);
    gl.useProgram(this.blurProgram.program);
    gl.uniform1f(this.blurProgram.places.radius, BLUR_RADIUS_M / (2 * GROUND_EXTENT));
    gl.bindTexture(gl.TEXTURE_2D, this.shadow.texture);
    gl.bindVertexArray(this.noArray);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.bindTexture(gl.TEXTURE_2D, this.blurred.texture);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  /** Open a picture for drawing, empty. */
  #open({ frame, size }) {
    const { gl } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.viewport(0, 0, size, size);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
  }

  #drawGround(camera, theme) {
    const { gl } = this;
    const { program, places } = this.groundProgram;
    gl.useProgram(program);
    gl.uniformMatrix4fv(places.camera, false, camera.matrix);
    gl.uniform1f(places.extent, GROUND_EXTENT);
    gl.uniform3fv(places.gridColour, theme.grid);
    gl.uniform1f(places.gridStrength, theme.gridStrength);
    gl.uniform1f(places.shadowStrength, theme.shadowStrength);
    gl.bindVertexArray(this.noArray);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }
}
