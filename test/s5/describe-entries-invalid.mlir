// Properties: what no caller can pass is refused, at the entry.
// RUN: polynest-opt %s --polynest-describe-entries --split-input-file --verify-diagnostics

// expected-error@+1 {{argument 1 of type 'memref<*xf32>' cannot be passed by a caller}}
func.func @unranked(%a: memref<4xf32>, %b: memref<*xf32>) attributes {polynest.entry} {
  return
}

// -----

// expected-error@+1 {{argument 0 of type 'vector<4xf32>' cannot be passed by a caller}}
func.func @vector(%a: vector<4xf32>) attributes {polynest.entry} {
  return
}

// -----

// expected-error@+1 {{argument 0 of type 'memref<4xi5>' cannot be passed by a caller}}
func.func @width(%a: memref<4xi5>) attributes {polynest.entry} {
  return
}

// -----

// expected-error@+1 {{argument 0 of type 'memref<4xf32, strided<[1], offset: 2>>' cannot be passed by a caller}}
func.func @offset(%a: memref<4xf32, strided<[1], offset: 2>>) attributes {polynest.entry} {
  return
}

// -----

// expected-error@+1 {{the arena must be the last argument, a memref<Nxi8>}}
func.func @order(%t: memref<64xi8> {polynest.arena}, %a: memref<4xf32>) attributes {polynest.entry} {
  return
}

// -----

// expected-error@+1 {{the arena must be the last argument, a memref<Nxi8>}}
func.func @bytes(%t: memref<64xf32> {polynest.arena}) attributes {polynest.entry} {
  return
}

// -----

// expected-error@+1 {{the arena must be the last argument, a memref<Nxi8>}}
func.func @dynamic(%t: memref<?xi8> {polynest.arena}) attributes {polynest.entry} {
  return
}

// -----

// expected-error@+1 {{the state must be the last argument, a memref<Nxi8>}}
func.func @state(%s: memref<64xi8> {polynest.state}, %a: memref<4xf32>) attributes {polynest.entry} {
  return
}
