// Properties: s2 hands over nests over memrefs.
// RUN: polynest-opt %s --polynest-verify-stage=stage=s2 --split-input-file --verify-diagnostics

func.func @linalg(%x: f32, %o: memref<4xf32>) {
  // expected-error@+1 {{operations of dialect 'linalg' are not allowed in the output of stage s2}}
  linalg.fill ins(%x : f32) outs(%o : memref<4xf32>)
  return
}

// -----

func.func @copy(%x: memref<4xf32>, %o: memref<4xf32>) {
  // expected-error@+1 {{a copy is a nest in the output of stage s2}}
  memref.copy %x, %o : memref<4xf32> to memref<4xf32>
  return
}

// -----

func.func @prefetch(%x: memref<4xf32>, %i: index) {
  // expected-error@+1 {{of memref, only allocation, access and views are allowed in the output of stage s2}}
  memref.prefetch %x[%i], read, locality<3>, data : memref<4xf32>
  return
}

// -----

func.func @vector(%x: memref<4xf32>, %i: index) {
  // expected-error@+1 {{operations of dialect 'vector' are not allowed in the output of stage s2}}
  %v = vector.load %x[%i] : memref<4xf32>, vector<4xf32>
  return
}
