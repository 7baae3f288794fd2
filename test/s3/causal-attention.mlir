// Properties: of attention with a causal mask, from tensors to blocked products, the
// products and the rows between them run block by block, leave out the columns that
// a block masks, and read operands that are packed once for all blocks.
// RUN: polynestc targets znver3 --file | sed 's/^cores = 64/cores = 2/' > %t.target
// RUN: polynestc explain --target %t.target %s > %t.said
// RUN: FileCheck %s < %t.said
// CHECK-DAG: fuse-blocks {{.*}}applied {{.*}}nests run block by block (nests 3, depth 2
// CHECK-DAG: trim-loops {{.*}}applied {{.*}}loops end where a mask begins (loops 5, split true, columns 384
// RUN: FileCheck %s --check-prefix=BLOCKS < %t.said
// BLOCKS-COUNT-2: block-contractions {{.*}}applied {{.*}}columns-ahead true
func.func @att(%q: tensor<32x384x64xf32>, %k: tensor<32x384x64xf32>, %v: tensor<32x384x64xf32>) -> tensor<32x384x64xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.125 : f32
  %e = tensor.empty() : tensor<32x384x384xf32>
  %r = tensor.empty() : tensor<32x384xf32>
  %o = tensor.empty() : tensor<32x384x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x384x384xf32>) -> tensor<32x384x384xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b,i,j,d)->(b,i,d)>, affine_map<(b,i,j,d)->(b,j,d)>, affine_map<(b,i,j,d)->(b,i,j)>], iterator_types=["parallel","parallel","parallel","reduction"]} ins(%q, %k : tensor<32x384x64xf32>, tensor<32x384x64xf32>) outs(%f : tensor<32x384x384xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %c, %m : f32
    linalg.yield %t : f32
  } -> tensor<32x384x384xf32>
  %ss = linalg.generic {indexing_maps = [affine_map<(b,i,j)->(b,i,j)>, affine_map<(b,i,j)->(b,i,j)>], iterator_types=["parallel","parallel","parallel"]} ins(%s : tensor<32x384x384xf32>) outs(%e : tensor<32x384x384xf32>) {
  ^bb0(%a: f32, %c: f32):
    %m = arith.mulf %a, %scale : f32
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %masked = arith.cmpi sgt, %j, %i : index
    %kept = arith.select %masked, %ninf, %m : f32
    linalg.yield %kept : f32
  } -> tensor<32x384x384xf32>
  %rf = linalg.fill ins(%ninf : f32) outs(%r : tensor<32x384xf32>) -> tensor<32x384xf32>
  %mx = linalg.generic {indexing_maps = [affine_map<(b,i,j)->(b,i,j)>, affine_map<(b,i,j)->(b,i)>], iterator_types=["parallel","parallel","reduction"]} ins(%ss : tensor<32x384x384xf32>) outs(%rf : tensor<32x384xf32>) {
  ^bb0(%a: f32, %c: f32):
    %m = arith.maximumf %a, %c : f32
    linalg.yield %m : f32
  } -> tensor<32x384xf32>
  %ex = linalg.generic {indexing_maps = [affine_map<(b,i,j)->(b,i,j)>, affine_map<(b,i,j)->(b,i)>, affine_map<(b,i,j)->(b,i,j)>], iterator_types=["parallel","parallel","parallel"]} ins(%ss, %mx : tensor<32x384x384xf32>, tensor<32x384xf32>) outs(%e : tensor<32x384x384xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.subf %a, %b : f32
    %x = math.exp %m : f32
    linalg.yield %x : f32
  } -> tensor<32x384x384xf32>
  %sf = linalg.fill ins(%zero : f32) outs(%r : tensor<32x384xf32>) -> tensor<32x384xf32>
  %sm = linalg.generic {indexing_maps = [affine_map<(b,i,j)->(b,i,j)>, affine_map<(b,i,j)->(b,i)>], iterator_types=["parallel","parallel","reduction"]} ins(%ex : tensor<32x384x384xf32>) outs(%sf : tensor<32x384xf32>) {
  ^bb0(%a: f32, %c: f32):
    %m = arith.addf %a, %c : f32
    linalg.yield %m : f32
  } -> tensor<32x384xf32>
  %dv = linalg.generic {indexing_maps = [affine_map<(b,i,j)->(b,i,j)>, affine_map<(b,i,j)->(b,i)>, affine_map<(b,i,j)->(b,i,j)>], iterator_types=["parallel","parallel","parallel"]} ins(%ex, %sm : tensor<32x384x384xf32>, tensor<32x384xf32>) outs(%e : tensor<32x384x384xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.divf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<32x384x384xf32>
  %of = linalg.fill ins(%zero : f32) outs(%o : tensor<32x384x64xf32>) -> tensor<32x384x64xf32>
  %out = linalg.batch_matmul ins(%dv, %v : tensor<32x384x384xf32>, tensor<32x384x64xf32>) outs(%of : tensor<32x384x64xf32>) -> tensor<32x384x64xf32>
  return %out : tensor<32x384x64xf32>
}
