// gloo RANK RANKS STORE_DIR JOB... - see frame.h. Operations: broadcast gather reduce
// allreduce (a ring), allreduce-bcube, and of the older interface, which the paper
// measured, allreduce-chunked (a ring in chunks) and allreduce-halving (and doubling).
#include "frame.h"
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <memory>
#include <string>
#include <vector>

static void sum(void *a, const void *b, const void *c, size_t n) {
    gloo::sum<float>(static_cast<float *>(a), static_cast<const float *>(b), static_cast<const float *>(c), n);
}

int main(int argc, char **argv) {
    int n = atoi(argv[2]);
    frame_init(atoi(argv[1]), n);
    gloo::transport::tcp::attr attr;
    attr.iface = "eth0";
    auto dev = gloo::transport::tcp::CreateDevice(attr);
    gloo::rendezvous::FileStore store(argv[3]);
    auto ctx = std::make_shared<gloo::rendezvous::Context>(rank, n);
    ctx->setTimeout(std::chrono::seconds(120));
    ctx->connectFullMesh(store, dev);
    uint32_t tag = 1;
    for (int a = 4; a < argc; a++) {
        job j = parse_job(argv[a]);
        std::string op = j.op;
        size_t count = j.size / 4;
        std::vector<float> in(count), out(op == "gather" && rank == 0 ? count * n : count);
        std::unique_ptr<gloo::Algorithm> old;
        if (op == "allreduce-chunked") old.reset(new gloo::AllreduceRingChunked<float>(ctx, {in.data()}, count));
        if (op == "allreduce-halving") old.reset(new gloo::AllreduceHalvingDoubling<float>(ctx, {in.data()}, count));
        for (int run = -1; run < j.runs; run++) {
            for (auto &x : in) x = rank + 1;
            std::fill(out.begin(), out.end(), 0);
            tag++;
            run_begin(j.interval);
            if (op == "broadcast") {
                gloo::BroadcastOptions o(ctx);
                o.setOutput(in.data(), count);
                o.setRoot(0);
                o.setTag(tag);
                gloo::broadcast(o);
            } else if (op == "gather") {
                gloo::GatherOptions o(ctx);
                o.setInput(in.data(), count);
                o.setRoot(0);
                o.setTag(tag);
                if (rank == 0) o.setOutput(out.data(), count * n);
                gloo::gather(o);
            } else if (op == "reduce") {
                gloo::ReduceOptions o(ctx);
                o.setInput(in.data(), count);
                o.setOutput(out.data(), count);
                o.setRoot(0);
                o.setTag(tag);
                o.setReduceFunction(gloo::ReduceOptions::Func(sum));
                gloo::reduce(o);
            } else if (op == "allreduce" || op == "allreduce-bcube") {
                gloo::AllreduceOptions o(ctx);
                o.setAlgorithm(op == "allreduce" ? gloo::AllreduceOptions::Algorithm::RING
                                                 : gloo::AllreduceOptions::Algorithm::BCUBE);
                o.setInput(in.data(), count);
                o.setOutput(out.data(), count);
                o.setTag(tag);
                o.setReduceFunction(gloo::AllreduceOptions::Func(sum));
                gloo::allreduce(o);
            } else if (old) {
                old->run();
            }
            run_end();
            meet();
            float want = n * (n + 1) / 2.0f;
            if (op == "broadcast") check(j.op, in.data(), count, 1);
            else if (old) check(j.op, in.data(), count, want);
            else if (op == "gather" && rank == 0)
                for (int r = 0; r < n; r++) check(j.op, &out[r * count], count, r + 1);
            else if (op != "gather" && (op != "reduce" || rank == 0)) check(j.op, out.data(), count, want);
            run_report(j.op, j.size, j.interval, run);
        }
    }
    meet();
    return 0;
}
